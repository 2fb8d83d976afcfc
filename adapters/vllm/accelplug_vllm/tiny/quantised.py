"""Checkpoints with quantised linear layers, and their twin whose weights are the same numbers in floating point."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

GROUP = 32  # weights of a row that share a scale
LEVELS = 8  # values run from -8 to 7: of 4 bits, and kept in 8 where a format has those

Tensors = dict[str, Any]


def compressed(source: Path, folder: Path, bits: int = 4) -> None:
    """As compressed-tensors packs weights of 4 or 8 bits."""
    weights = {"num_bits": bits, "type": "int", "symmetric": True, "strategy": "group", "group_size": GROUP}
    config = {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}},
        "ignore": ["lm_head"],
    }
    _write(source, folder, lambda values, scales: _compressed(values, scales, bits), config)


def gptq(source: Path, folder: Path) -> None:
    """As GPTQ has weights of 4 bits."""
    config = {"quant_method": "gptq", "bits": 4, "group_size": GROUP, "desc_act": False, "sym": True, "lm_head": False}
    _write(source, folder, _gptq, config)


def twin(source: Path, folder: Path) -> None:
    """Not quantised, with the numbers that the others stand for."""
    _write(source, folder, lambda values, scales: {"weight": (values * scales[..., None]).flatten(-2)}, None)


def _compressed(values: Any, scales: Any, bits: int) -> Tensors:
    import torch

    packed = _packed(values.flatten(-2) + 2 ** (bits - 1), bits)
    return {"weight_packed": packed, "weight_scale": scales, "weight_shape": torch.tensor(values.flatten(-2).shape)}


def _gptq(values: Any, scales: Any) -> Tensors:
    import torch

    outputs, groups = scales.shape
    return {
        "qweight": _packed(values.flatten(-2) + LEVELS, 4).t().contiguous(),
        "scales": scales.t().contiguous(),
        "qzeros": _packed(torch.full((groups, outputs), LEVELS - 1), 4),  # GPTQ's are one less
        "g_idx": torch.arange(groups, dtype=torch.int32).repeat_interleave(GROUP),
    }


def _packed(values: Any, bits: int) -> Any:
    """Rows of values in rows of int32, the first in the lowest bits."""
    import torch

    per_word = 32 // bits
    shifted = values.long().unflatten(-1, (-1, per_word)) << torch.arange(0, 32, bits)
    return shifted.sum(-1).to(torch.int32)


def _write(source: Path, folder: Path, form: Callable[[Any, Any], Tensors], quantised: dict[str, Any] | None) -> None:
    """``form(values, scales)`` has a layer's tensors: values (outputs, groups, group), scales (outputs, groups)."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(source, folder)
    tensors: Tensors = {}
    for name, tensor in load_file(source / "model.safetensors").items():
        layer = name.removesuffix(".weight")
        if not layer.endswith("_proj"):
            tensors[name] = tensor
            continue
        grouped = tensor.unflatten(-1, (-1, GROUP))
        scales = (grouped.abs().amax(-1) / (LEVELS - 1)).half().float()  # so that they are the same in float16
        values = (grouped / scales[..., None]).round().clamp(-LEVELS, LEVELS - 1)
        tensors |= {f"{layer}.{part}": made for part, made in form(values, scales).items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    if quantised:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"quantization_config": quantised}))
