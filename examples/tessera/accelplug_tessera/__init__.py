"""Tessera One, a made-up chip, as its vendor would describe it to accelplug. Written by `accelplug new`, then filled in.

It works in tiles of 32, keeps 32 bits of an int64, and computes attention in a way of its own.
"""

from __future__ import annotations

from typing import Any

from accelplug.hookspecs import hookimpl
from accelplug.specs import AttentionSpec, Capabilities, CompilerSpec, Constraints, DeviceSpec, Feature, Probe, RanOn

from accelplug_tessera.probe import probe

TILE = 32  # rows, columns, keys: the matrix unit takes 32 of each


def load() -> None:
    """Makes torch.device("tessera") exist: once in each process that uses it, after the probe has said usable."""
    import torch_tessera  # noqa: F401


@hookimpl
def accelplug_device() -> DeviceSpec:
    return DeviceSpec(
        name="tessera",
        title="Tessera One",
        torch_type="tessera",
        probe=probe,
        load=load,
        priority=250,
        visible_devices="TESSERA_VISIBLE_DEVICES",
        ran_on=RanOn.simulator,
    )


@hookimpl
def accelplug_constraints(probe: Probe) -> Constraints:
    """float64 is left out: there is no such tensor. Steps of vLLM are padded to the buckets, all of them whole tiles."""
    return Constraints(
        dtypes=("bool", "uint8", "int8", "int16", "int32", "bfloat16", "float16", "float32"),
        casts={"int64": "int32"},
        preferred_dtype="bfloat16",
        alignment_bytes=2 * TILE,  # a row of a tile in bfloat16
        head_multiple=TILE,
        block_multiple=TILE,
        static_shapes=True,
        buckets=tuple(TILE << doubled for doubled in range(8)),  # 32 to 4096
    )


@hookimpl
def accelplug_compiler() -> CompilerSpec:
    return CompilerSpec(static_shapes=True)


@hookimpl
def accelplug_capabilities(probe: Probe) -> Capabilities:
    return Capabilities(
        cannot={
            Feature.dynamic_shapes: "Tessera's compiler lays tiles out for fixed shapes",
            Feature.lora: "Tessera keeps weights in its own memory while a model is served",
        }
    )


@hookimpl
def accelplug_attention(attn_type: str, config: Any) -> AttentionSpec:
    """The cache has all tokens of a head in one piece, so that a block of it is a tile."""
    from accelplug_tessera.attention import attend

    return AttentionSpec(compute=attend, kv_layout="LBHNC", block_sizes=(TILE,))
