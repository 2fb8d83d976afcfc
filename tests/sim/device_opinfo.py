"""Runs PyTorch's own samples of every op (OpInfo, float32) on the device and the CPU. Prints a JSON of what differs.

For each op up to four samples: the results, and the gradients of their sum for the first tensor.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

DEVICE = "neuron"
SAMPLES = 4

# Nothing to compare: uninitialised memory, or random numbers that are drawn in another order on purpose.
WITHOUT_A_RIGHT_ANSWER = {
    *("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted"),
    *("normal", "bernoulli", "rand", "rand_like", "randn", "randn_like", "randint", "randint_like", "randperm"),
    *("uniform", "geometric", "cauchy", "exponential", "log_normal", "multinomial"),
    *("nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d"),
    *("nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout"),
}


def to_device(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to(DEVICE)
    if isinstance(value, torch.device):
        return torch.device(DEVICE)
    return DEVICE if value == "cpu" and isinstance(value, str) else value


def forward(op: Any, sample: Any, convert: Callable[[Any], Any]) -> Any:
    torch.manual_seed(0)
    return op(tree_map(convert, sample.input), *tree_map(convert, sample.args), **tree_map(convert, sample.kwargs))


def copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def compare(got: Any, expected: Any, op: Any) -> None:
    for a, b in zip(tree_leaves(expected), tree_leaves(got), strict=True):
        if isinstance(a, torch.Tensor):
            if a.numel() and op.name != "item":
                assert b.device.type == DEVICE, f"the result is on {b.device}"
            torch.testing.assert_close(b.cpu(), a, rtol=1e-4, atol=1e-4, equal_nan=True)


def gradient(op: Any, sample: Any, convert: Callable[[Any], Any]) -> torch.Tensor | None:
    """The gradient for the first tensor, None where there is none."""
    inputs = tree_map(convert, sample.input)
    first = next((x for x in tree_leaves(inputs) if isinstance(x, torch.Tensor) and x.is_floating_point()), None)
    if first is None:
        return None
    first.requires_grad_()
    torch.manual_seed(0)
    results = op(inputs, *tree_map(convert, sample.args), **tree_map(convert, sample.kwargs))
    total = sum(
        x.abs().sum() if x.is_complex() else x.sum()
        for x in tree_leaves(results)
        if isinstance(x, torch.Tensor) and x.requires_grad
    )
    if not isinstance(total, torch.Tensor):
        return None
    (found,) = torch.autograd.grad(total, first, allow_unused=True)
    return found


def check_forward(op: Any, samples: list[Any]) -> int:
    """How many samples the CPU computes, all of which the device computes alike."""
    checked = 0
    for sample in samples:
        try:
            expected = forward(op, sample, copied)
        except Exception:
            continue  # samples of errors, and of options that this build of torch lacks
        checked += 1
        compare(forward(op, sample, to_device), expected, op)
    return checked


def check_backward(op: Any, samples: list[Any]) -> int:
    checked = 0
    for sample in samples:
        try:
            expected = gradient(op, sample, lambda x: x.detach().clone() if isinstance(x, torch.Tensor) else x)
        except Exception:
            continue
        if expected is None:
            continue
        checked += 1
        got = gradient(op, sample, to_device)
        assert got is not None
        torch.testing.assert_close(got.cpu(), expected, rtol=1e-4, atol=1e-4, equal_nan=True)
    return checked


def main() -> None:
    from torch.testing._internal.common_methods_invocations import op_db

    import accelplug

    warnings.simplefilter("ignore")
    assert str(accelplug.auto()) == DEVICE
    report: dict[str, Any] = {way: {"checked": 0, "wrong": {}} for way in ("forward", "backward")}
    for op in op_db:
        if torch.float32 not in op.supported_dtypes("cpu") or op.name in WITHOUT_A_RIGHT_ANSWER:
            continue
        if "sparse" in op.name or "jiterator" in op.name:
            continue
        samples = list(op.sample_inputs("cpu", torch.float32))[:SAMPLES]
        ways = {"forward": check_forward} | ({"backward": check_backward} if op.supports_autograd else {})
        for way, check in ways.items():
            name = f"{op.name}.{op.variant_test_name}".rstrip(".")
            try:
                report[way]["checked"] += check(op, samples) > 0
            except BaseException as error:
                report[way]["checked"] += 1
                report[way]["wrong"][name] = f"{type(error).__name__}: {str(error)[:200]}"
    print(json.dumps(report))


if __name__ == "__main__":
    main()
