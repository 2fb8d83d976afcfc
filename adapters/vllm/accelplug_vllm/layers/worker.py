"""vLLM's CPU worker, with single layers of the model on a device."""

from __future__ import annotations

from typing import Any

from vllm.v1.worker.cpu_worker import CPUWorker

import accelplug
from accelplug.errors import BadInputError
from accelplug.tables import fallback, tables_for
from accelplug_vllm.layers import host, replacing, wrapping
from accelplug_vllm.native import options
from accelplug_vllm.stepping import CountsSteps


class LayersWorker(CountsSteps, CPUWorker):  # type: ignore[misc]
    """Makes the device live before the model is made, and takes the layers' weights there once they are loaded."""

    def init_device(self) -> None:
        there = accelplug.select(host.device().name).torch_device.type
        self._check_dtype(there)
        names = options.read(self.vllm_config.additional_config).layers_on_device
        self._layers = wrapping.wrap(names, there)
        super().init_device()

    def load_model(self, **given: Any) -> None:
        super().load_model(**given)
        model = self.model_runner.model
        wrapping.move_weights(model)
        fallback.live().implementations.update(replacing.in_use(self._layers, model.modules()))

    def _check_dtype(self, device_type: str) -> None:
        tables, dtype = tables_for(device_type), str(self.model_config.dtype).removeprefix("torch.")
        if tables is not None and not tables.constraints.holds(dtype):
            raise BadInputError(
                f"--dtype {dtype}: {device_type} has no such tensors, so no layer can be on it; it has: "
                f"{', '.join(tables.constraints.dtypes)}"
            )
