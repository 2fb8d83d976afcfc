"""The operators of a step of a decoder-only model, with the sizes that they have in it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from accelplug import ops
from accelplug.bench.records import ModelSizes
from accelplug.bench.workloads import Place, Step, Workload

FULL = 4  # bytes of a float32, in which sampling works
INDEX = 8  # bytes of an int64
TOP_K = 50
LOGITS = "linear: logits"


def operators(model: ModelSizes, step: Step, size: int) -> list[Workload]:
    """Every operator of one step. ``size`` is the bytes of an element of weights and activations."""
    return [
        *_linears(model, step, size),
        *_pointwise(model, step, size),
        *_attention(model, step, size),
        *_sampling(model, step),
    ]


def _linears(model: ModelSizes, step: Step, size: int) -> list[Workload]:
    queries, keys = model.heads * model.head_size, model.kv_heads * model.head_size
    sizes = {
        "linear: query, key, value": (step.tokens, model.hidden, queries + 2 * keys),
        "linear: attention's output": (step.tokens, queries, model.hidden),
        "linear: gate and up": (step.tokens, model.hidden, 2 * model.intermediate),
        "linear: down": (step.tokens, model.intermediate, model.hidden),
        LOGITS: (step.sequences, model.hidden, model.vocabulary),
    }
    return [
        Workload(
            step=step.name,
            name=name,
            kind="operator",
            per_step=1 if name == LOGITS else model.layers,
            flops=2 * rows * inputs * outputs,
            bytes=(rows * inputs + outputs * inputs + rows * outputs) * size,
            inputs=functools.partial(_weights_and_rows, rows, inputs, outputs),
            call=functional.linear,
        )
        for name, (rows, inputs, outputs) in sizes.items()
    ]


def _weights_and_rows(rows: int, inputs: int, outputs: int, place: Place) -> tuple[Tensor, Tensor]:
    return place.normal(rows, inputs), place.normal(outputs, inputs)


def _pointwise(model: ModelSizes, step: Step, size: int) -> list[Workload]:
    tokens, width, head, heads = step.tokens, model.hidden, model.head_size, model.heads + model.kv_heads
    row, gated, rotated = tokens * width, tokens * model.intermediate, tokens * heads * head
    return [
        Workload(
            step=step.name,
            name="embedding",
            kind="operator",
            per_step=1,
            flops=0,
            bytes=2 * row * size + tokens * INDEX,
            inputs=lambda place: (place.below(model.vocabulary, tokens), place.normal(model.vocabulary, width)),
            call=functional.embedding,
        ),
        Workload(
            step=step.name,
            name="RMS norm",
            kind="operator",
            per_step=2 * model.layers + 1,
            flops=4 * row,
            bytes=(2 * row + width) * size,
            inputs=lambda place: (place.normal(tokens, width), place.normal(width)),
            call=ops.rms_norm,
        ),
        Workload(
            step=step.name,
            name="residual add",
            kind="operator",
            per_step=2 * model.layers,
            flops=row,
            bytes=3 * row * size,
            inputs=lambda place: (place.normal(tokens, width), place.normal(tokens, width)),
            call=torch.add,
        ),
        Workload(
            step=step.name,
            name="SiLU and multiply",
            kind="operator",
            per_step=model.layers,
            flops=5 * gated,
            bytes=3 * gated * size,
            inputs=lambda place: (place.normal(tokens, 2 * model.intermediate),),
            call=ops.silu_and_mul,
        ),
        Workload(
            step=step.name,
            name="rotary embedding",
            kind="operator",
            per_step=model.layers,
            flops=3 * rotated,
            bytes=(2 * rotated + tokens * head) * size,
            inputs=lambda place: (
                place.normal(tokens, heads, head),
                place.normal(tokens, head // 2),
                place.normal(tokens, head // 2),
            ),
            call=ops.rotary_embedding,
        ),
    ]


def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention of the newest tokens to themselves and all before: (sequences, heads, tokens, head size) each."""
    return functional.scaled_dot_product_attention(
        query, key, value, is_causal=query.shape[2] > 1, enable_gqa=query.shape[1] != key.shape[1]
    )


def _attention(model: ModelSizes, step: Step, size: int) -> list[Workload]:
    heads, kv_heads, head = model.heads, model.kv_heads, model.head_size
    slots = step.sequences * step.context
    asked, held, written = step.tokens * heads * head, slots * kv_heads * head, step.tokens * kv_heads * head

    def queries_and_cache(place: Place) -> tuple[Tensor, Tensor, Tensor]:
        cached = step.sequences, kv_heads, step.context, head
        return place.normal(step.sequences, heads, step.queries, head), place.normal(*cached), place.normal(*cached)

    return [
        Workload(
            step=step.name,
            name="attention",
            kind="operator",
            per_step=model.layers,
            flops=4 * step.keys_seen * heads * head,
            bytes=2 * (asked + held) * size,
            inputs=queries_and_cache,
            call=attend,
        ),
        Workload(
            step=step.name,
            name="write to the KV cache",
            kind="operator",
            per_step=2 * model.layers,
            flops=0,
            bytes=2 * written * size + step.tokens * INDEX,
            inputs=lambda place: (
                place.normal(slots, kv_heads, head),
                place.distinct(slots, step.tokens),
                place.normal(step.tokens, kv_heads, head),
            ),
            call=lambda cache, where, new: cache.index_copy_(0, where, new),
        ),
        Workload(
            step=step.name,
            name="gather from the KV cache",
            kind="operator",
            per_step=2 * model.layers,
            flops=0,
            bytes=2 * held * size + slots * INDEX,
            inputs=lambda place: (place.normal(slots, kv_heads, head), place.distinct(slots, slots)),
            call=lambda cache, where: cache.index_select(0, where),
        ),
    ]


def _sampling(model: ModelSizes, step: Step) -> list[Workload]:
    logits = step.sequences * model.vocabulary

    def made(name: str, flops: int, written: int, call: Callable[[Tensor], Any]) -> Workload:
        return Workload(
            step=step.name,
            name=name,
            kind="operator",
            per_step=1,
            flops=flops,
            bytes=logits * FULL + written,
            inputs=lambda place: (place.normal(step.sequences, model.vocabulary, dtype=torch.float32),),
            call=call,
        )

    return [
        made("sampling: argmax", 0, step.sequences * INDEX, lambda values: values.argmax(-1)),
        made("sampling: log softmax", 4 * logits, logits * FULL, lambda values: values.log_softmax(-1)),
        made("sampling: top 50", 0, step.sequences * TOP_K * (FULL + INDEX), lambda values: values.topk(TOP_K, -1)),
        made("sampling: sort", 0, logits * (FULL + INDEX), lambda values: values.sort(-1)),
    ]
