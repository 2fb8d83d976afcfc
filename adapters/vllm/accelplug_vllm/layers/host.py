"""Which device single layers go to while vLLM's platform is the CPU, and what vLLM's configuration becomes for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelplug import api, settings
from accelplug.errors import BadInputError, DeviceUnusableError
from accelplug.plugins import discover
from accelplug.specs import Candidate
from accelplug_vllm import compat
from accelplug_vllm.native import options

if TYPE_CHECKING:
    from vllm.config import VllmConfig

CPU_WORKER = "vllm.v1.worker.cpu_worker.CPUWorker"
WORKER = "accelplug_vllm.layers.worker.LayersWorker"
ASKED_BY = f"{options.FLAG} {options.KEY}.layers_on_device"


def apply(vllm_config: VllmConfig, platform: str) -> list[str]:
    """Sets the worker where layers are to be on a device, and says which; changes nothing the second time.

    Raises BadInputError where that can't be on this ``platform`` or with these options, DeviceUnusableError where
    there is no such device.
    """
    names = options.read(vllm_config.additional_config).layers_on_device
    if not names:
        return []
    if platform != "cpu":
        raise BadInputError(
            f"{ASKED_BY}: the whole model is on {platform}; with --device cpu it is on the CPU, and these layers alone "
            "on the device"
        )
    if reason := compat.why_off(compat.LAYERS_ON_DEVICE):
        raise BadInputError(f"{ASKED_BY}: {reason}; leave it out")
    from vllm.config import CompilationMode

    there = device()
    parallel = vllm_config.parallel_config
    if parallel.worker_cls not in (CPU_WORKER, WORKER):
        raise BadInputError(f"{ASKED_BY}: it needs a worker of its own; leave --worker-cls {parallel.worker_cls} out")
    parallel.worker_cls = WORKER
    vllm_config.compilation_config.mode = CompilationMode.NONE  # no graph has tensors of two devices
    return [f"{', '.join(names)} on {there.name}{' (simulated)' if there.simulated else ''}, op by op"]


def device() -> Candidate:
    """The best usable device that is not in PyTorch's tree; a simulated one only where ACCELPLUG_SIMULATE asks for it.

    Raises DeviceUnusableError, with every verdict, where there is none.
    """
    values = settings.read().values
    loaded = {b.name for b in discover(values.backends, values.simulate) if b.spec and b.spec.load is not None}
    wanted = values.profile.name if values.profile else ""
    selection = api.devices()
    for candidate in selection.candidates:
        if candidate.usable and candidate.name in loaded and (not candidate.simulated or candidate.name == wanted):
            return candidate
    verdicts = "; ".join(f"{c.name}: {c.verdict}: {c.reason}" for c in selection.candidates if c.name in loaded)
    raise DeviceUnusableError(selection, f"{ASKED_BY}: no device that layers could be on is usable: {verdicts}")
