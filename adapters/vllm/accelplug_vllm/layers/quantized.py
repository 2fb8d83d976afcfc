"""Quantised linear layers: vLLM's tables of kernels get accelplug's, and a vendor's own, for a device outside its tree.

vLLM chooses among them for each layer, by its sizes and types; the first that can take it does.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from vllm.model_executor.kernels.linear import MPLinearKernel, MPLinearLayerConfig, register_linear_kernel
from vllm.model_executor.layers.linear import LinearBase
from vllm.model_executor.layers.quantization import auto_gptq
from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead
from vllm.platforms import PlatformEnum
from vllm.scalar_type import scalar_types
from vllm.utils.import_utils import resolve_obj_by_qualname

from accelplug import ops
from accelplug.errors import BackendError
from accelplug_vllm.layers import fused

OP = "accelplug::quantized_linear"

# Those with a bias of their own have zero in the middle, the others bring it with each group.
MIDDLE = (scalar_types.uint4b8, scalar_types.uint8b128)
BROUGHT = (scalar_types.uint4, scalar_types.uint8)


class WeightOnlyLinear(MPLinearKernel):  # type: ignore[misc]
    """Weights of 4 or 8 bits, in groups or rows, in accelplug::quantized_linear, below which a vendor's kernels are.

    vLLM has them packed into int32, the first value in the lowest bits, in the order of the checkpoint: of GPTQ along
    the inputs, [inputs / pack, outputs]; of compressed-tensors [outputs, inputs / pack].
    """

    @classmethod
    def get_min_capability(cls) -> int:
        return 0  # CUDA's

    @classmethod
    def can_implement(cls, c: MPLinearLayerConfig) -> tuple[bool, str | None]:
        inputs = c.partition_weight_shape[0]
        if c.weight_type not in (*MIDDLE, *BROUGHT):
            return False, f"weights are {c.weight_type}, and not unsigned integers of 4 or 8 bits"
        if inputs * c.weight_type.size_bits % 32 or (c.group_size > 0 and inputs % c.group_size):
            return False, f"{inputs} inputs don't fill words of 32 bits, or groups of {c.group_size}"
        return True, None

    def process_weights_after_loading(self, layer: torch.nn.Module) -> None:
        """As the operator wants them; on the host, as a device needn't look at its memory in another dtype."""
        self._transform_param(layer, self.w_q_name, _repacked)
        self._transform_param(layer, self.w_s_name, _rows_are_outputs)
        if self.config.zero_points:
            dtype = getattr(layer, self.w_s_name).dtype
            self._transform_param(layer, self.w_zp_name, functools.partial(self._zeros, dtype))

    def apply_weights(self, layer: torch.nn.Module, x: Tensor, bias: Tensor | None = None) -> Tensor:
        weight, scales, zeros = self._get_weight_params(layer)
        if not self.config.zero_points:
            zeros = None  # some checkpoints have them all the same
        return ops.quantized_linear(x, weight, scales, zeros, bias, self.config.weight_type.size_bits)

    def _zeros(self, dtype: torch.dtype, packed: Any) -> Tensor:
        """[outputs, groups], of what is packed along the outputs."""
        bits = self.config.weight_type.size_bits
        words = _host(packed).movedim(packed.packed_dim, -1).contiguous()
        values = words.view(torch.uint8).unsqueeze(-1) >> torch.arange(0, 8, bits, dtype=torch.uint8)
        return (values & (2**bits - 1)).flatten(-2).t().to(dtype).contiguous().to(packed.device)


@functools.cache
def register(vendors: tuple[tuple[str, tuple[str, ...]], ...], asked_by: str) -> None:
    """Gives vLLM a vendor's kernels, by the kind of layer that vLLM asks for, and accelplug's after them; once.

    Raises BackendError where a vendor's class can't be imported, or vLLM has no such kind; ``asked_by`` names the hook.
    """
    for kind, names in vendors:
        for name in names:
            _register_vendors(kind, name, asked_by)
    register_linear_kernel(WeightOnlyLinear, PlatformEnum.OOT, "mp")
    # See compat: "quantization.gptq"
    auto_gptq.verify_marlin_supported = lambda *args, **kwargs: None


def _register_vendors(kind: str, name: str, asked_by: str) -> None:
    try:
        register_linear_kernel(resolve_obj_by_qualname(name), PlatformEnum.OOT, kind)
    except (ImportError, AttributeError, ValueError) as error:
        raise BackendError(f"{asked_by} names {name!r} for linear layers of kind {kind!r}: {error}") from error


def in_use(device_type: str, modules: Iterable[object]) -> dict[str, tuple[str, ...]]:
    """What runs each kind of quantised layer that a model has, given all of its modules."""
    layers = [module for module in modules if isinstance(module, (LinearBase, ParallelLMHead))]
    return {
        f"{type(layer).__name__}, quantised": fused.runs(device_type, OP)
        if isinstance(kernel, WeightOnlyLinear)
        else (f"{type(kernel).__module__}.{type(kernel).__qualname__}",)
        for layer in layers
        if (kernel := _kernel(layer)) is not None
    }


def _kernel(layer: object) -> object | None:
    """The kernel of a quantised linear layer: its method has one, or with compressed-tensors its scheme."""
    holders = (getattr(layer, name, None) for name in ("scheme", "quant_method"))
    kernels = (getattr(holder, "kernel", None) for holder in holders)
    return next((kernel for kernel in kernels if kernel is not None), None)


def _repacked(packed: Any) -> Tensor:
    """The bytes of each output's weights in a row, of what is packed along the inputs."""
    words = _host(packed).movedim(packed.output_dim, 0).contiguous()
    return words.view(torch.uint8).to(packed.device)


def _rows_are_outputs(scales: Any) -> Tensor:
    return scales.data.movedim(scales.output_dim, 0).contiguous()


def _host(parameter: Tensor) -> Tensor:
    return parameter.data.cpu()
