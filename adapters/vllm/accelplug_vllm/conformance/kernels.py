"""vLLM's IR operators and layers on the device, against vLLM's own functions in PyTorch, run on the CPU."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from accelplug.conformance.checks import NamedCheck, Skip
from accelplug.conformance.comparing import same_numbers
from accelplug.conformance.subject import Subject
from accelplug_vllm.conformance import here

REMEDY = (
    "compare the kernel that `data` names with its reference on such tensors; a layer of the vendor's comes from the "
    "hook accelplug_layers"
)
TOKENS = (1, 17)
WIDE = 256


@dataclass(frozen=True)
class LayerCase:
    """A layer of vLLM's, and what it is called with: ``inputs(tokens, dtype)`` on the CPU."""

    make: Callable[[torch.dtype], Any]
    inputs: Callable[[int, torch.dtype], tuple[Any, ...]]


def checks(subject: Subject) -> list[NamedCheck]:
    """One for each IR operator and each layer, in each dtype; quick: in the best one."""
    platform = here.platform(subject)
    from vllm.ir.op import IrOp

    platform.import_ir_kernels()
    found = []
    for dtype in here.dtypes(subject):
        quick = dtype == here.dtype_name(subject)
        for name in sorted(IrOp.registry):
            check = functools.partial(_check_operator, name, dtype)
            found.append(NamedCheck(f"vllm.ir.{name}, {dtype}", check, REMEDY, quick=quick))
        for name, case in LAYERS.items():
            check = functools.partial(_check_layer, case, dtype)
            found.append(NamedCheck(f"{name}, {dtype}", check, REMEDY, quick=quick))
    return found


def _check_operator(name: str, dtype: str, subject: Subject) -> dict[str, Any]:
    """Each implementation that vLLM would choose here, in its order, as far as it takes the call."""
    from vllm.ir.op import IrOp

    op = IrOp.registry[name]
    if not op.has_input_generator:
        raise Skip(f"vLLM generates no inputs for {name}")
    platform = here.platform(subject)
    order = getattr(platform.get_default_ir_op_priority(here.configuration(subject.name, dtype)), name)
    ran: list[str] = []
    for tokens in TOKENS:
        torch.manual_seed(tokens)
        given = op.generate_inputs(num_tokens=tokens, hidden_size=WIDE, dtype=here.torch_dtype(dtype))
        wanted = op.impls["native"].impl_fn(*_on(given, "cpu"))
        for provider in order:
            implementation, there = op.impls[provider], _on(given, platform.device_type)
            if implementation.supported and implementation.supports_args(*there):
                _compare(implementation.impl_fn(*there), wanted)
                ran.append(provider)
    return {"ran": ", ".join(dict.fromkeys(ran))}


def _check_layer(case: LayerCase, dtype: str, subject: Subject) -> dict[str, Any]:
    """The layer that a model would get on the device, as its worker has replaced it."""
    from vllm.config import set_current_vllm_config

    platform = here.platform(subject)
    config = here.configuration(subject.name, dtype)
    _replace_layers(platform)
    with set_current_vllm_config(config):
        with torch.device(platform.device_type):
            layer = case.make(here.torch_dtype(dtype)).to(platform.device_type)
        reference = case.make(here.torch_dtype(dtype))
    priority = platform.get_default_ir_op_priority(config)
    for tokens in TOKENS:
        given = case.inputs(tokens, here.torch_dtype(dtype))
        wanted = reference.forward_native(*_on(given, "cpu"))
        with torch.no_grad(), priority.set_priority():
            _compare(layer(*_on(given, platform.device_type)), wanted)
    return {"layer": f"{type(layer).__module__}.{type(layer).__qualname__}"}


def _replace_layers(platform: Any) -> None:
    """What a worker of native mode does before it loads a model; delegate mode replaces nothing."""
    if platform.is_out_of_tree():
        from accelplug_vllm.layers import replacing
        from accelplug_vllm.native import device

        current = device.current()
        replacing.replace(current.torch_type, current.layers(), f"hook accelplug_layers of {current.name}")


def _on(given: Sequence[Any], device: str) -> tuple[Any, ...]:
    """Copies: some implementations write to what they are given."""
    moved: tuple[Any, ...] = tree_map_only(torch.Tensor, lambda x: x.to(device, copy=True), tuple(given))
    return moved


def _compare(got: Any, wanted: Any) -> None:
    for ours, right in zip(tree_leaves(got), tree_leaves(wanted), strict=True):
        same_numbers(ours, right)


def _numbers(*size: int, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed)).to(dtype)


def _norm(dtype: torch.dtype) -> Any:
    from vllm.model_executor.layers.layernorm import RMSNorm

    layer = RMSNorm(WIDE, dtype=dtype)
    layer.weight.data.copy_(_numbers(WIDE, dtype=dtype, seed=1))
    return layer


def _activation(name: str) -> Callable[[torch.dtype], Any]:
    def make(dtype: torch.dtype) -> Any:
        from vllm.model_executor.layers import activation

        return getattr(activation, name)()

    return make


def _rotary(neighbours: bool) -> Callable[[torch.dtype], Any]:
    """``neighbours``: the halves of a pair lie beside each other, as in GPT-J."""

    def make(dtype: torch.dtype) -> Any:
        from vllm.model_executor.layers.rotary_embedding import RotaryEmbedding

        return RotaryEmbedding(64, 64, here.LONGEST, 1e4, not neighbours, dtype)

    return make


def _states(tokens: int, dtype: torch.dtype) -> tuple[Any, ...]:
    return (_numbers(tokens, WIDE, dtype=dtype),)


def _with_residual(tokens: int, dtype: torch.dtype) -> tuple[Any, ...]:
    return _numbers(tokens, WIDE, dtype=dtype), _numbers(tokens, WIDE, dtype=dtype, seed=2)


def _rotated(tokens: int, dtype: torch.dtype) -> tuple[Any, ...]:
    positions = torch.arange(tokens) * 7 % here.LONGEST
    return positions, _numbers(tokens, 4 * 64, dtype=dtype), _numbers(tokens, 2 * 64, dtype=dtype, seed=2)


LAYERS = {
    "RMSNorm": LayerCase(_norm, _states),
    "RMSNorm with a residual": LayerCase(_norm, _with_residual),
    "SiluAndMul": LayerCase(_activation("SiluAndMul"), _states),
    "MulAndSilu": LayerCase(_activation("MulAndSilu"), _states),
    "GeluAndMul": LayerCase(_activation("GeluAndMul"), _states),
    "RotaryEmbedding": LayerCase(_rotary(neighbours=False), _rotated),
    "RotaryEmbedding of neighbours": LayerCase(_rotary(neighbours=True), _rotated),
}
