"""What Neuron's kernels take, at the edge of their rules: the last shape that fits, and the first that doesn't."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from accelplug_neuron.kernels import kernels

from accelplug.specs import Kernel
from accelplug.tables import operators, predicate


def meta(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def refused(kernel: Kernel, arguments: tuple[Any, ...]) -> str | None:
    """Why the kernel doesn't take a call, None where it does."""
    clauses = predicate.clauses(kernel, operators.find(kernel.op)._schema)
    if found := predicate.failing(clauses, arguments):
        clause, got = found
        return f"{clause}; got {got}"
    return kernel.refuses(*arguments) if kernel.refuses else None


W = meta(8192)
ANGLES = meta(2, 7, 64)
INSIDE: dict[str, list[tuple[Any, ...]]] = {
    "accelplug::rms_norm": [(meta(8192), W, 1e-6), (meta(2, 3, 1, dtype=torch.bfloat16), meta(1), 1e-6)],
    "accelplug::silu_and_mul": [(meta(2),), (meta(5, 3, 40000, dtype=torch.float16),)],
    "accelplug::rotary_embedding": [(meta(2, 7, 64, 128), ANGLES, ANGLES), (meta(1, 2), meta(1), meta(1))],
    "aten::_softmax": [(meta(8192), -1, False), (meta(2, 3, 5, 1, dtype=torch.bfloat16), -1, False)],
    "aten::mm": [(meta(128, 16384), meta(16384, 128)), (meta(1280, 128), meta(128, 384))],
}
OUTSIDE: dict[str, list[tuple[tuple[Any, ...], str]]] = {
    "accelplug::rms_norm": [
        ((meta(2, 8193), meta(8193), 1e-6), "input has a dimension -1 of at most 8192"),
        ((meta(2, 0), meta(0), 1e-6), "input has a dimension -1 of at least 1"),
        ((meta(8, 4).t(), meta(8), 1e-6), "input is contiguous"),
        ((meta(4, 4, dtype=torch.float64), meta(4), 1e-6), "input is float32 or bfloat16 or float16"),
        ((meta(4, 4), meta(4, dtype=torch.float64), 1e-6), "weight is float32"),
        ((meta(4, 4), meta(4, 4), 1e-6), "weight has a number of dimensions of 1"),
    ],
    "accelplug::silu_and_mul": [
        ((meta(4, 3),), "input has a dimension -1 of a multiple of 2"),
        ((meta(4, 8)[:, :4],), "input is contiguous"),
        ((meta(4, 8, dtype=torch.int32),), "input is float32"),
    ],
    "accelplug::rotary_embedding": [
        ((meta(2, 7, 65, 128), ANGLES, ANGLES), "input has a dimension -2 of at most 64"),
        ((meta(7, 8, 130), meta(7, 65), meta(7, 65)), "input has a dimension -1 of at most 128"),
        ((meta(7, 8, 7), meta(7, 4), meta(7, 4)), "input has a dimension -1 of a multiple of 2"),
        ((meta(7, 8, 8), meta(1, 4), meta(7, 4)), "cos has shape (1, 4), not (7, 4)"),
        ((meta(7, 8, 8), meta(7, 4), meta(4, 7).t()), "sin is contiguous"),
    ],
    "aten::_softmax": [
        ((meta(4, 8193), -1, False), "self has a dimension -1 of at most 8192"),
        ((meta(4, 8), 0, False), "dim is -1; got 0"),
        ((meta(4, 8, dtype=torch.float16), -1, True), "half_to_float is False; got True"),
    ],
    "aten::mm": [
        ((meta(127, 128), meta(128, 128)), "self has a dimension 0 of a multiple of 128"),
        ((meta(128, 64), meta(64, 128)), "self has a dimension 1 of a multiple of 128"),
        ((meta(128, 128), meta(128, 129)), "mat2 has a dimension 1 of a multiple of 128"),
        ((meta(0, 128), meta(128, 128)), "self has a dimension 0 of at least 128"),
        ((meta(128, 16512), meta(16512, 128)), "self has a dimension 1 of at most 16384"),
        ((meta(128, 128), meta(256, 128).t()), "mat2 is contiguous"),
    ],
}


@pytest.mark.parametrize("kernel", [kernel for kernel in kernels() if kernel.provider == "nki"], ids=str)
def test_an_nki_kernel_takes_what_is_just_inside_its_rules_and_names_what_is_just_outside(kernel: Kernel) -> None:
    for arguments in INSIDE[kernel.op]:
        assert refused(kernel, arguments) is None
    for arguments, reason in OUTSIDE[kernel.op]:
        assert reason in (refused(kernel, arguments) or "taken"), arguments


def test_kernels_at_the_compilers_level_have_no_limits_of_the_chip() -> None:
    (norm,) = [kernel for kernel in kernels() if str(kernel) == "neuron/rms_norm"]
    assert refused(norm, (meta(2, 100000), meta(100000), 1e-6)) is None
    assert refused(norm, (meta(8, 4).t(), meta(8), 1e-6)) is None
