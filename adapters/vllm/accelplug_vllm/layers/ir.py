"""Kernels as implementations of vLLM's IR: vLLM chooses among them, with their own clauses, and ends at its native one.

Each kernel is a provider, ``nki__rms_norm_isa``, in the order of the device's table. That is the eager way. While a
graph is traced the provider ``accelplug`` serves instead: it leaves the operator of `accelplug.ops` in the graph, where
the device's decomposition table chooses.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from vllm.ir.op import IrOp

from accelplug import ops
from accelplug.tables import tables_for
from accelplug.tables.offers import Offer, PassedOnError, offers

if TYPE_CHECKING:
    from vllm.config import VllmConfig
    from vllm.config.kernel import IrOpPriorityConfig

IN_GRAPHS = "accelplug"
NATIVE = "native"

Function = Callable[..., Any]


@dataclass(frozen=True)
class Match:
    """An IR operator, and the one of `accelplug.ops` that computes it.

    ``of_kernel(offer)`` and ``in_graphs()`` make the implementation and its ``supports_args``.
    """

    op: str
    of_kernel: Callable[[Offer], tuple[Function, Function]]
    in_graphs: Callable[[], tuple[Function, Function]]


def provider(offer: Offer) -> str:
    """The name of a kernel among vLLM's providers, which have no slash."""
    return str(offer).replace("/", "__")


@functools.cache
def register(device_type: str) -> None:
    """Gives vLLM the device's kernels, once in a process."""
    for name, match in _matches().items():
        op = IrOp.registry[name]
        found = _offers(device_type, match.op)
        for offer in found:
            implementation, supports = match.of_kernel(offer)
            op.register_impl(provider(offer), supports_args=supports)(implementation)
        if found:
            implementation, supports = match.in_graphs()
            op.register_impl(IN_GRAPHS, supports_args=supports)(implementation)


def priorities(device_type: str, vllm_config: VllmConfig) -> IrOpPriorityConfig:
    """For each IR operator the providers in the order in which vLLM tries them."""
    from vllm.config import CompilationMode
    from vllm.config.kernel import IrOpPriorityConfig

    eager = vllm_config.compilation_config.mode == CompilationMode.NONE
    wanted = {}
    for name, match in _matches().items():
        if found := _offers(device_type, match.op):
            wanted[name] = [*(map(provider, found) if eager else [IN_GRAPHS]), NATIVE]
    return IrOpPriorityConfig.with_default([NATIVE], **wanted)


def chosen() -> dict[str, tuple[str, ...]]:
    """What runs each IR operator in this process, in order, once vLLM has set it."""
    return {
        f"vllm.ir.{name}": tuple(each.replace("__", "/", 1) for each in op.get_priority())
        for name, op in sorted(IrOp.registry.items())
    }


def _matches() -> dict[str, Match]:
    """Those that the installed vLLM has."""
    return {name: match for name, match in MATCHES.items() if name in IrOp.registry}


def _offers(device_type: str, op: str) -> list[Offer]:
    tables = tables_for(device_type)
    return offers(tables.kernels, op) if tables is not None else []


# vLLM checks that parameters and annotations are those of its own function, names, types and defaults.


def _expressible(x: Tensor, weight: Tensor | None, variance_size: int | None) -> bool:
    """accelplug::rms_norm has a weight, and takes the mean over the whole dimension."""
    return weight is not None and variance_size is None


def _rms_norm(offer: Offer) -> tuple[Function, Function]:
    def supports(x: Tensor, weight: Tensor | None, epsilon: float, variance_size: int | None = None) -> bool:
        if torch.compiler.is_compiling():
            return False  # the table chooses, below IN_GRAPHS
        return _expressible(x, weight, variance_size) and offer.takes(x, weight, epsilon)

    def rms_norm(x: Tensor, weight: Tensor | None, epsilon: float, variance_size: int | None = None) -> Tensor:
        try:
            normal: Tensor = offer(x, weight, epsilon)
        except PassedOnError:  # the offer has counted it, with what it said
            normal = _native("rms_norm")(x, weight, epsilon, variance_size)
        return normal

    return rms_norm, supports


def _fused_add_rms_norm(offer: Offer) -> tuple[Function, Function]:
    """The sum is rounded before it is normalised, as vLLM's own kernels do it."""

    def supports(
        x: Tensor, x_residual: Tensor, weight: Tensor | None, epsilon: float, variance_size: int | None = None
    ) -> bool:
        if torch.compiler.is_compiling() or not _alike(x, x_residual):
            return False
        # The sum lies in memory as x does, and starts where its own memory does.
        return _expressible(x, weight, variance_size) and offer.takes(x, weight, epsilon)

    def fused_add_rms_norm(
        x: Tensor, x_residual: Tensor, weight: Tensor | None, epsilon: float, variance_size: int | None = None
    ) -> tuple[Tensor, Tensor]:
        total = x + x_residual
        try:
            return offer(total, weight, epsilon), total
        except PassedOnError:  # the offer has counted it, with what it said
            native: tuple[Tensor, Tensor] = _native("fused_add_rms_norm")(x, x_residual, weight, epsilon, variance_size)
            return native

    return fused_add_rms_norm, supports


def _rms_norm_in_graphs() -> tuple[Function, Function]:
    def supports(x: Tensor, weight: Tensor | None, epsilon: float, variance_size: int | None = None) -> bool:
        return _expressible(x, weight, variance_size) and _of_one_dtype(x, weight)

    def rms_norm(x: Tensor, weight: Tensor | None, epsilon: float, variance_size: int | None = None) -> Tensor:
        assert weight is not None
        return ops.rms_norm(x, weight, epsilon)

    return rms_norm, supports


def _fused_add_rms_norm_in_graphs() -> tuple[Function, Function]:
    def supports(
        x: Tensor, x_residual: Tensor, weight: Tensor | None, epsilon: float, variance_size: int | None = None
    ) -> bool:
        return _expressible(x, weight, variance_size) and _of_one_dtype(x, weight) and _alike(x, x_residual)

    def fused_add_rms_norm(
        x: Tensor, x_residual: Tensor, weight: Tensor | None, epsilon: float, variance_size: int | None = None
    ) -> tuple[Tensor, Tensor]:
        assert weight is not None
        total = x + x_residual
        return ops.rms_norm(total, weight, epsilon), total

    return fused_add_rms_norm, supports


def _of_one_dtype(x: Tensor, weight: Tensor | None) -> bool:
    """Where no kernel takes the call in the graph, accelplug's own function then rounds as vLLM's does."""
    return weight is not None and bool(weight.dtype == x.dtype)


def _alike(x: Tensor, x_residual: Tensor) -> bool:
    return bool(x.dtype == x_residual.dtype and x.shape == x_residual.shape)


def _native(name: str) -> Function:
    implementation: Function = IrOp.registry[name].impls[NATIVE].impl_fn
    return implementation


MATCHES = {
    "rms_norm": Match("accelplug::rms_norm", _rms_norm, _rms_norm_in_graphs),
    "fused_add_rms_norm": Match("accelplug::rms_norm", _fused_add_rms_norm, _fused_add_rms_norm_in_graphs),
}
