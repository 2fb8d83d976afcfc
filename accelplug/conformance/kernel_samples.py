"""Calls of operators that a kernel says it takes, made from what its record asks of them."""

from __future__ import annotations

from typing import Any

import torch

from accelplug.specs import Kernel, TensorRule

# An operator's arguments, in its order: the dimensions of a tensor by letter (equal letters are equal sizes, and "r" is
# half of "k"), or the value of another argument.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "aten::mm": {"self": "mk", "mat2": "kn"},
    "aten::bmm": {"self": "bmk", "mat2": "bkn"},
    "aten::addmm": {"self": "n", "mat1": "mk", "mat2": "kn"},
    "aten::linear": {"input": "mk", "weight": "nk"},
    "aten::_softmax": {"self": "mk", "dim": -1, "half_to_float": False},
    "aten::silu": {"self": "mk"},
    "aten::relu": {"self": "mk"},
    "aten::gelu": {"self": "mk"},
    "aten::add.Tensor": {"self": "mk", "other": "mk"},
    "aten::mul.Tensor": {"self": "mk", "other": "mk"},
    "accelplug::rms_norm": {"input": "mk", "weight": "k", "eps": 1e-6},
    "accelplug::silu_and_mul": {"input": "mk"},
    "accelplug::rotary_embedding": {"input": "mhk", "cos": "mr", "sin": "mr"},
}
EXTRA = "xyzw"  # dimensions in front, where a rule wants more of them
SMALLEST, LARGEST = 4, 4096


def shapes(kernel: Kernel) -> dict[str, tuple[int, ...]] | None:
    """A shape for each tensor argument that meets the kernel's rules; None where the suite finds none."""
    arguments = ARGUMENTS.get(kernel.op)
    if arguments is None:
        return None
    letters = {
        name: _with_rank(dims, _rules(kernel, name)) for name, dims in arguments.items() if isinstance(dims, str)
    }
    if not all(letters.values()):
        return None
    sizes = {letter: _size(letter, letters, kernel) for dims in letters.values() for letter in dims if letter != "r"}
    if None in sizes.values():
        return None
    known = {letter: size for letter, size in sizes.items() if size}
    if "k" in known:
        known["r"] = known["k"] // 2
    return {name: tuple(known[letter] for letter in dims) for name, dims in letters.items()}


def dtypes(kernel: Kernel) -> list[str]:
    """The floating-point dtypes that all tensors of a call may have."""
    allowed = [{*rule.dtypes} for rule in kernel.accepts.values() if rule.dtypes]
    known = ("float32", "bfloat16", "float16")
    return [name for name in known if all(name in names for names in allowed)]


def call(kernel: Kernel, sizes: dict[str, tuple[int, ...]], dtype: torch.dtype) -> list[Any]:
    """All arguments of one call, on the CPU, the same in every process."""
    generator = torch.Generator().manual_seed(0)
    arguments: list[Any] = []
    for name, value in ARGUMENTS[kernel.op].items():
        if name in sizes:
            arguments.append(torch.randn(sizes[name], generator=generator).to(dtype))
        else:
            allowed = kernel.values.get(name)
            arguments.append(allowed[0] if allowed and value not in allowed else value)
    return arguments


def _rules(kernel: Kernel, name: str) -> list[TensorRule]:
    return [kernel.accepts[key] for key in ("*", name) if key in kernel.accepts]


def _with_rank(dims: str, rules: list[TensorRule]) -> str:
    """The dimensions, with further ones in front where a rule has no such rank; "" where none fits."""
    for extra in range(len(EXTRA) + 1):
        if all(not rule.ranks or len(dims) + extra in rule.ranks for rule in rules):
            return EXTRA[:extra] + dims
    return ""


def _size(letter: str, letters: dict[str, str], kernel: Kernel) -> int | None:
    """The smallest size that each dimension of this letter may have; even, as some are halved."""
    asked = [
        (rule, place - len(dims), place)
        for name, dims in letters.items()
        for place, each in enumerate(dims)
        if each == letter
        for rule in _rules(kernel, name)
    ]
    for size in range(SMALLEST, LARGEST + 1, 2):
        if all(_meets(size, rule, dimension) for rule, *places in asked for dimension in places):
            return size
    return None


def _meets(size: int, rule: TensorRule, dimension: int) -> bool:
    return (
        size % rule.multiples.get(dimension, 1) == 0
        and size >= rule.at_least.get(dimension, 0)
        and size <= rule.at_most.get(dimension, size)
    )
