"""Puts classes in the place of vLLM's layers: a vendor's (hook ``accelplug_layers``), and those of `fused`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module

from vllm.model_executor.custom_op import CustomOp, PluggableLayer, op_registry_oot
from vllm.model_executor.layers.activation import SiluAndMul
from vllm.model_executor.layers.rotary_embedding import RotaryEmbedding
from vllm.utils.import_utils import resolve_obj_by_qualname

from accelplug.errors import BackendError, nearest
from accelplug_vllm.layers import fused

Replacement = str | Callable[[type], type]

ACCELPLUG = "accelplug"

# The modules of the layers that models are made of. A layer can be named once its module is imported.
MODULES = (
    *("activation", "conv", "fused_moe", "layernorm", "linear", "logits_processor", "rotary_embedding"),
    "vocab_parallel_embedding",
)

# vLLM's layer, accelplug's in its place, and the operator that this one calls.
FUSED: dict[type, tuple[Callable[[type, str], type], str]] = {
    SiluAndMul: (fused.silu_and_mul, "accelplug::silu_and_mul"),
    RotaryEmbedding: (fused.rotary_embedding, "accelplug::rotary_embedding"),
}

_origins: dict[str, str] = {}  # who has replaced a layer


def replace(device_type: str, vendors: Mapping[str, Replacement], asked_by: str) -> dict[str, tuple[str, ...]]:
    """Replaces the layers that a vendor has its own for, then those that kernels serve; says what runs each, in order.

    A second time it changes nothing. Raises BackendError for a layer that vLLM doesn't have, a class that can't stand
    for it, or one that somebody else has replaced; ``asked_by`` says whose wish it was.
    """
    running: dict[str, tuple[str, ...]] = {}
    for name, replacement in vendors.items():
        origin = _named(replacement)
        put(find(name, asked_by), functools.partial(_subclass, replacement), origin)
        running[name] = (origin,)
    for layer, (make, op) in _fusible():
        if op_registry_oot.get(layer.__name__) is None:
            put(layer, functools.partial(_fused, make, device_type), ACCELPLUG)
        if _origins.get(layer.__name__) == ACCELPLUG:
            running[layer.__name__] = fused.runs(device_type, op)
    return running


def put(layer: type, make: Callable[[type], type], origin: str) -> None:
    """Makes vLLM use ``make(layer)`` wherever it makes a ``layer``. ``origin`` is who wants that.

    A second time it changes nothing. Raises BackendError where another has replaced it, naming both.
    """
    name = layer.__name__
    there = op_registry_oot.get(name)
    if there is not None:
        if _origins.get(name) == origin:
            return
        other = _origins.get(name) or f"{there.__module__}.{there.__qualname__}"
        raise BackendError(f"vLLM's layer {name} has two replacements, {other} and {origin}: leave one of them out")
    made = make(layer)
    if not (isinstance(made, type) and issubclass(made, layer)):
        raise BackendError(f"{origin} can't stand for vLLM's layer {name}: it must be a subclass of it, got {made!r}")
    CustomOp.register_oot(made, name=name)
    # vLLM has named it by its class; its switches, as in custom_ops=["-silu_and_mul"], go by the layer's own name.
    made.name = getattr(layer, "name", name)  # type: ignore[attr-defined]
    _origins[name] = origin


def in_use(running: Mapping[str, tuple[str, ...]], modules: Iterable[object]) -> dict[str, tuple[str, ...]]:
    """Those of the replaced layers that a model has, given all of its modules."""
    kinds = {kind for module in modules for kind in type(module).__mro__}
    return {name: runs for name, runs in running.items() if op_registry_oot[name] in kinds}


def find(name: str, asked_by: str) -> type:
    """vLLM's layer of this name. Raises BackendError, with the nearest name, where the installed vLLM has none."""
    known = replaceable()
    if name in known:
        return known[name]
    by_lower = {each.lower(): each for each in known}
    near = nearest(name, by_lower)
    hint = f"; did you mean {by_lower[near]!r}?" if near else ""
    raise BackendError(
        f"{asked_by} names {name!r}, which is no layer of the installed vLLM's{hint}; there are: "
        f"{', '.join(sorted(known))}"
    )


def replaceable() -> dict[str, type]:
    """The layers of vLLM's that can be replaced, by the names of their classes."""
    for module in MODULES:
        import_module(f"vllm.model_executor.layers.{module}")
    layers = (*_subclasses(CustomOp), *_subclasses(PluggableLayer))
    return {layer.__name__: layer for layer in layers if _is_of_vllm(layer)}


def _fusible() -> list[tuple[type, tuple[Callable[[type, str], type], str]]]:
    """The layers that `FUSED` has something for: also derived ones, as long as they compute alike."""
    return [
        (layer, how)
        for base, how in FUSED.items()
        for layer in (base, *_subclasses(base))
        if _is_of_vllm(layer) and layer.forward_native is base.forward_native  # type: ignore[attr-defined]
    ]


def _subclasses(base: type) -> list[type]:
    children: list[type] = base.__subclasses__()
    return [each for child in children for each in (child, *_subclasses(child))]


def _is_of_vllm(layer: type) -> bool:
    return layer.__module__.startswith("vllm.")


def _fused(make: Callable[[type, str], type], device_type: str, layer: type) -> type:
    return make(layer, device_type)


def _subclass(replacement: Replacement, layer: type) -> type:
    made: type = resolve_obj_by_qualname(replacement) if isinstance(replacement, str) else replacement(layer)
    return made


def _named(replacement: Replacement) -> str:
    if isinstance(replacement, str):
        return replacement
    return f"{replacement.__module__}.{getattr(replacement, '__qualname__', type(replacement).__name__)}"
