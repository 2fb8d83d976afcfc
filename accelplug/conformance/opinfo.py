"""PyTorch's own samples of its operators (OpInfo), run on the device and on the CPU.

For each operator up to `SAMPLES` samples: the results, and the gradients of their sum for the first tensor.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from accelplug.conformance.checks import Skip, expect
from accelplug.conformance.comparing import same_numbers

SAMPLES = 4
NEEDS = "expecttest"  # torch.testing._internal imports it; it doesn't come with torch

# Nothing to compare: uninitialised memory, or random numbers, which may be drawn in another order.
WITHOUT_A_RIGHT_ANSWER = {
    *("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted"),
    *("normal", "bernoulli", "rand", "rand_like", "randn", "randn_like", "randint", "randint_like", "randperm"),
    *("uniform", "geometric", "cauchy", "exponential", "log_normal", "multinomial"),
    *("nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d"),
    *("nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout"),
}

# What PyTorch refuses on any device but the CPU: the operator, and what its error says.
REFUSED_BY_PYTORCH = {"tensor_split": "be on cpu"}


class Refused(Exception):  # noqa: N818
    """The device refuses a call, by name, for a dtype that it doesn't hold."""


@functools.cache
def operators(dtype: torch.dtype) -> dict[str, Any]:
    """PyTorch's operators with samples in ``dtype``, by name. Raises Skip where the samples can't be imported."""
    if find_spec(NEEDS) is None:
        raise Skip(f"PyTorch's samples need the package {NEEDS!r}: pip install 'accelplug[conform]', or {NEEDS} alone")
    from torch.testing._internal.common_methods_invocations import op_db

    return {name: op for name, op in _named(op_db) if dtype in op.supported_dtypes("cpu")}


def _named(op_db: list[Any]) -> Iterator[tuple[str, Any]]:
    for op in op_db:
        if op.name not in WITHOUT_A_RIGHT_ANSWER and "sparse" not in op.name and "jiterator" not in op.name:
            yield f"{op.name}.{op.variant_test_name}".rstrip("."), op


def samples(op: Any, dtype: torch.dtype, requires_grad: bool = False) -> list[Any]:
    """The first samples, on the CPU, of the same numbers in every process."""
    torch.manual_seed(0)
    return list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=requires_grad), SAMPLES))


class Comparison:
    """One device against the CPU. ``refuses`` says of an error whether the device refuses a dtype by its name."""

    def __init__(self, device: str, refuses: Callable[[BaseException], bool]) -> None:
        self.device = device
        self._refuses = refuses

    def forward(self, op: Any, given: list[Any], run: Callable[[Callable[[], Any]], Any]) -> int:
        """How many samples the CPU computes, all of which the device computes alike.

        ``run`` calls what runs on the device. Raises AssertionError where results differ, Refused, and Skip where
        PyTorch refuses.
        """
        return self._each(op, given, _result, self._compare, run)

    def backward(self, op: Any, given: list[Any], run: Callable[[Callable[[], Any]], Any]) -> int:
        """The same of gradients; samples without any don't count."""
        return self._each(op, given, _gradient, self._compare_gradients, run)

    def _each(
        self,
        op: Any,
        given: list[Any],
        compute: Callable[..., Any],
        compare: Callable[[Any, Any, Any], None],
        run: Callable[[Callable[[], Any]], Any],
    ) -> int:
        compared = 0
        refused: Refused | None = None
        by_pytorch = ""
        for sample in given:
            try:
                wanted = compute(op, *_moved(sample, _copied))
            except Exception:
                continue  # samples of errors, and of options that this build of torch lacks
            if wanted is None:
                continue
            try:
                there = _moved(sample, self._to_device)
                got = run(functools.partial(compute, op, *there))
            except Exception as error:
                if REFUSED_BY_PYTORCH.get(op.name, "\0") in str(error):
                    by_pytorch = str(error).splitlines()[0]
                    continue
                if not self._refuses(error):
                    raise
                refused = Refused(str(error).splitlines()[0])
                continue
            compare(op, got, wanted)
            compared += 1
        if refused is not None and not compared:
            raise refused
        if by_pytorch and not compared:
            raise Skip(f"PyTorch refuses the samples on any device: {by_pytorch}")
        return compared

    def _to_device(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.detach().to(self.device, copy=True)  # also where the CPU is beside itself: views keep no base
        if isinstance(value, torch.device):
            return torch.device(self.device)
        return self.device if isinstance(value, str) and value == "cpu" else value

    def _compare(self, op: Any, got: Any, wanted: Any) -> None:
        for ours, right in zip(tree_leaves(got), tree_leaves(wanted), strict=True):
            if isinstance(right, torch.Tensor):
                on_device = ours.device.type == self.device or not right.numel() or op.name == "item"
                expect(on_device, f"the result is on {ours.device}")
                same_numbers(ours, right)

    def _compare_gradients(self, op: Any, got: Any, wanted: Any) -> None:
        expect(got is not None, "there is no gradient")
        same_numbers(got, wanted)


def _moved(sample: Any, convert: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    return tree_map(convert, sample.input), tree_map(convert, sample.args), tree_map(convert, sample.kwargs)


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _result(op: Any, given: Any, args: Any, kwargs: Any) -> Any:
    torch.manual_seed(0)
    return op(given, *args, **kwargs)


def _gradient(op: Any, given: Any, args: Any, kwargs: Any) -> torch.Tensor | None:
    """The gradient for the first tensor, None where there is none."""
    first = next((x for x in tree_leaves(given) if isinstance(x, torch.Tensor) and x.is_floating_point()), None)
    if first is None:
        return None
    first.requires_grad_()
    results = [x for x in tree_leaves(_result(op, given, args, kwargs)) if isinstance(x, torch.Tensor)]
    sums = [x.abs().sum() if x.is_complex() else x.sum() for x in results if x.requires_grad]
    if not sums:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (found,) = torch.autograd.grad(functools.reduce(torch.add, sums), first, allow_unused=True)
    return found
