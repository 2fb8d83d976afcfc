"""Loads quantised models as a worker does, on the simulated device of the environment.

Arguments: an empty folder, then models and dtypes (``compressed4:float32``). Prints as JSON, for each, what two of its
layers make of ones, and what runs its quantised layers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main(folder: str, *cases: str) -> None:
    import torch
    from accelplug_vllm.layers import quantized
    from accelplug_vllm.native import device, groups
    from accelplug_vllm.tiny.models import checkpoint
    from vllm.config import set_current_vllm_config
    from vllm.engine.arg_utils import EngineArgs
    from vllm.model_executor.model_loader import get_model
    from vllm.v1.worker.gpu_worker import init_worker_distributed_environment

    from tools.support.catalogue import SMALL

    here, said = device.current(), {}
    quantized.register((), "nobody")
    for case in cases:
        model, dtype = case.split(":")
        config = EngineArgs(model=str(checkpoint(model)), **{**SMALL, "dtype": dtype}).create_engine_config()
        with set_current_vllm_config(config):
            if not said:
                init_worker_distributed_environment(config, 0, f"file://{Path(folder) / 'meeting'}", 0, "gloo")
                groups.put_on(torch.device(here.torch_type, 0))
            loaded = get_model(vllm_config=config)
        layer = loaded.model.layers[0]
        said[case] = {
            "qkv": _of_ones(layer.self_attn.qkv_proj, here.torch_type),
            "down": _of_ones(layer.mlp.down_proj, here.torch_type),
            "runs": quantized.in_use(here.torch_type, loaded.modules()),
        }
    print(json.dumps(said))


def _of_ones(layer: Any, device_type: str) -> list[float]:
    import torch

    with torch.inference_mode():
        ones = torch.ones(1, layer.input_size, dtype=layer.params_dtype, device=device_type)
        numbers: list[float] = layer(ones)[0].float().cpu().flatten().tolist()
    return numbers


if __name__ == "__main__":
    main(*sys.argv[1:])
