"""Each kernel that the backend brings gives what its reference gives on the CPU.

On a simulated device the reference runs in the kernel's place, which the data says.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from accelplug.conformance.checks import NamedCheck, Skip, expect
from accelplug.conformance.comparing import TOLERANCES
from accelplug.conformance.kernel_samples import call, dtypes, shapes
from accelplug.conformance.subject import Subject
from accelplug.plugins import ask
from accelplug.specs import Kernel

REMEDY = "compare the kernel with its reference on the shapes in `data`; or take such calls out of what it accepts"


def checks(subject: Subject) -> list[NamedCheck]:
    """One for each kernel; one in all where the backend brings none."""
    brought = ask(subject.backend, "accelplug_kernels", Sequence) or ()  # type: ignore[type-abstract]
    if not brought:
        return [NamedCheck("kernels", _none, "")]
    return [NamedCheck(f"{kernel} of {kernel.op}", functools.partial(_check, kernel), REMEDY) for kernel in brought]


def _none(subject: Subject) -> None:
    raise Skip("the backend brings no kernels of its own: the SDK's serve")


def _check(kernel: Kernel, subject: Subject) -> dict[str, Any]:
    sizes = shapes(kernel)
    if sizes is None:
        raise Skip(
            f"the suite has no call of {kernel.op} that it takes: compare it with its reference in your own tests"
        )
    function = kernel.reference if subject.candidate.simulated else _loaded(kernel)
    compared = []
    for name in dtypes(kernel):
        if subject.constraints.holds(name):
            given = call(kernel, sizes, getattr(torch, name))
            _compare(kernel, function, given, name, subject)
            compared.append(name)
    if not compared:
        raise Skip("it takes none of the floating-point dtypes that the device holds")
    ran = "its reference, in its place" if subject.candidate.simulated else "the kernel"
    return {"ran": ran, "level": str(kernel.level), "dtypes": compared, "shapes": {k: [*v] for k, v in sizes.items()}}


def _loaded(kernel: Kernel) -> Any:
    try:
        return kernel.load()
    except ImportError as error:
        raise Skip(f"it isn't there: {error}") from None


def _compare(kernel: Kernel, function: Any, given: list[Any], dtype: str, subject: Subject) -> None:
    wanted = kernel.reference(*given)
    there = [value.to(subject.type) if isinstance(value, torch.Tensor) else value for value in given]
    refused = kernel.refuses(*there) if kernel.refuses else None
    expect(refused is None, f"it refuses a call that its rules take, in {dtype}: {refused}")
    usual = TOLERANCES[getattr(torch, dtype)]
    absolute, relative = kernel.tolerance.get(dtype, (usual, usual))
    for ours, right in zip(tree_leaves(function(*there)), tree_leaves(wanted), strict=True):
        expect(ours.device.type == subject.type, f"the result is on {ours.device}")
        expect(ours.dtype is right.dtype, f"in {dtype} the result is {ours.dtype}, the reference's {right.dtype}")
        torch.testing.assert_close(ours.cpu(), right, atol=absolute, rtol=relative, equal_nan=True)
