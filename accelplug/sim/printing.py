"""Printing tensors of a device without float64: PyTorch computes the format in float64, on the tensor's device."""

from __future__ import annotations

from typing import Any


def print_from_a_copy(torch_type: str) -> None:
    """Prints this device's tensors from a copy on the CPU. torch-spyre patches the same method, for the same reason."""
    import torch

    original = torch.Tensor.__repr__

    def from_a_copy(self: Any, *, tensor_contents: str | None = None) -> str:
        if self.device.type != torch_type or tensor_contents is not None:
            return str(original(self, tensor_contents=tensor_contents))
        text = str(original(self.detach().cpu()))
        if self.grad_fn is not None:
            grad = f", grad_fn=<{type(self.grad_fn).__name__}>"
        else:
            grad = ", requires_grad=True" if self.requires_grad else ""
        return f"{text.removesuffix(')')}, device='{self.device}'{grad})"

    torch.Tensor.__repr__ = from_a_copy
