"""A whole decoder layer, op by op and compiled: what operators cost together, and what compiling them gains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

import accelplug
from accelplug import ops
from accelplug.bench.operators import attend, operators
from accelplug.bench.records import ModelSizes
from accelplug.bench.workloads import Place, Step, Workload

NOT_IN_A_LAYER = ("embedding", "linear: logits", "sampling", "gather")
Layer = Callable[..., Tensor]


class Weights(NamedTuple):
    """Those of a layer, as the linear layers and norms take them."""

    qkv: Tensor
    output: Tensor
    gate_and_up: Tensor
    down: Tensor
    first_norm: Tensor
    second_norm: Tensor


def layer(model: ModelSizes, step: Step) -> Layer:
    """A layer of Llama's kind, whose sequences have all tokens but the newest in a cache of keys and values.

    It takes hidden (tokens, hidden), cos and sin (tokens, head size / 2), keys and values (sequences, KV heads,
    context, head size), which it writes the newest into, and returns a tensor as hidden.
    """

    def run(weights: Weights, hidden: Tensor, cos: Tensor, sin: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        projected = functional.linear(ops.rms_norm(hidden, weights.first_norm), weights.qkv)
        projected = projected.unflatten(-1, (-1, model.head_size))
        query, key, value = projected.split((model.heads, model.kv_heads, model.kv_heads), dim=1)
        query, key = ops.rotary_embedding(query, cos, sin), ops.rotary_embedding(key, cos, sin)
        keys[:, :, step.context - step.queries :] = _by_sequence(key, step)
        values[:, :, step.context - step.queries :] = _by_sequence(value, step)
        mixed = attend(_by_sequence(query, step), keys, values).transpose(1, 2).reshape(step.tokens, -1)
        hidden = hidden + functional.linear(mixed, weights.output)
        gated = functional.linear(ops.rms_norm(hidden, weights.second_norm), weights.gate_and_up)
        return hidden + functional.linear(ops.silu_and_mul(gated), weights.down)

    return run


def _by_sequence(tokens: Tensor, step: Step) -> Tensor:
    """(tokens, heads, head size) to (sequences, heads, queries, head size)."""
    return tokens.unflatten(0, (step.sequences, step.queries)).transpose(1, 2)


def layers(model: ModelSizes, step: Step, size: int) -> list[Workload]:
    """The layer, op by op and compiled. What it has to do is what its operators have to do."""
    parts = [part for part in operators(model, step, size) if not part.name.startswith(NOT_IN_A_LAYER)]
    calls = [part.per_step // model.layers for part in parts]  # a norm beyond the layers' is not one layer's

    def made(name: str, prepared: Callable[[Layer], Layer]) -> Workload:
        return Workload(
            step=step.name,
            name=name,
            kind="layer",
            per_step=model.layers,
            flops=sum(number * part.flops for number, part in zip(calls, parts, strict=True)),
            bytes=sum(number * part.bytes for number, part in zip(calls, parts, strict=True)),
            inputs=lambda place: (prepared(layer(model, step)), *_inputs(model, step, place)),
            call=_run,
        )

    return [
        made("decoder layer, op by op", lambda run: run),
        made("decoder layer, compiled", lambda run: accelplug.compile(run, dynamic=False)),
    ]


def _inputs(model: ModelSizes, step: Step, place: Place) -> tuple[Any, ...]:
    queries, keys = model.heads * model.head_size, model.kv_heads * model.head_size
    weights = Weights(
        qkv=place.normal(queries + 2 * keys, model.hidden),
        output=place.normal(model.hidden, queries),
        gate_and_up=place.normal(2 * model.intermediate, model.hidden),
        down=place.normal(model.hidden, model.intermediate),
        first_norm=place.normal(model.hidden),
        second_norm=place.normal(model.hidden),
    )
    angles = [place.normal(step.tokens, model.head_size // 2) for _ in ("cos", "sin")]
    cache = [place.normal(step.sequences, model.kv_heads, step.context, model.head_size) for _ in ("keys", "values")]
    return weights, place.normal(step.tokens, model.hidden), *angles, *cache


def _run(run: Layer, *inputs: Any) -> Tensor:
    with torch.no_grad():
        return run(*inputs)
