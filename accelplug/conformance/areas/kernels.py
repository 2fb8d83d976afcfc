"""Each kernel that the backend brings gives what its reference gives on the CPU, called through the table of kernels.

On a simulated device the reference runs in the kernel's place, which the data says.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from accelplug import tables
from accelplug.conformance.checks import NamedCheck, Skip, expect
from accelplug.conformance.comparing import TOLERANCES
from accelplug.conformance.kernel_samples import call, dtypes, shapes
from accelplug.conformance.subject import Subject
from accelplug.plugins import ask
from accelplug.specs import Kernel
from accelplug.tables.kernel_ops import KernelOp
from accelplug.tables.kernels import KernelTable
from accelplug.tables.scope import kernels

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
    table, made = _in_the_table(kernel, subject)
    compared = []
    for name in dtypes(kernel):
        if subject.constraints.holds(name):
            _compare(table, made, call(kernel, sizes, getattr(torch, name)), name, subject)
            compared.append(name)
    if not compared:
        raise Skip("it takes none of the floating-point dtypes that the device holds")
    ran = "its reference, in its place" if subject.candidate.simulated else "the kernel"
    return {"ran": ran, "level": str(kernel.level), "dtypes": compared, "shapes": {k: [*v] for k, v in sizes.items()}}


def _in_the_table(kernel: Kernel, subject: Subject) -> tuple[KernelTable, KernelOp]:
    """The kernels of the live device, and this one among them."""
    found = tables.tables_for(subject.type)
    assert found is not None, "a device with kernels has tables"
    table = found.kernels
    (made,) = [each for each in table.all if (each.kernel.op, str(each.kernel)) == (kernel.op, str(kernel))]
    if not made.load():
        raise Skip(f"it isn't there: {made.unavailable}")
    if made.number is None:
        raise Skip("the table of kernels could not be built, so none runs eagerly; the device said why")
    return table, made


def _compare(table: KernelTable, made: KernelOp, given: list[Any], dtype: str, subject: Subject) -> None:
    kernel = made.kernel
    wanted = kernel.reference(*given)
    there = [value.to(subject.type) if isinstance(value, torch.Tensor) else value for value in given]
    got = _through(table, made, there, dtype)
    torch.library.opcheck(made.op, tuple(there), test_utils=("test_schema", "test_faketensor"))
    usual = TOLERANCES[getattr(torch, dtype)]
    absolute, relative = kernel.tolerance.get(dtype, (usual, usual))
    for ours, right in zip(tree_leaves(got), tree_leaves(wanted), strict=True):
        expect(ours.device.type == subject.type, f"the result is on {ours.device}")
        expect(ours.dtype is right.dtype, f"in {dtype} the result is {ours.dtype}, the reference's {right.dtype}")
        torch.testing.assert_close(ours.cpu(), right, atol=absolute, rtol=relative, equal_nan=True)


def _through(table: KernelTable, made: KernelOp, there: list[Any], dtype: str) -> Any:
    """What the operator gives where this kernel alone may run."""
    before = _calls(table, made)
    with kernels(only=str(made.kernel)):
        got = made.target(*there)
    refused = made.failing(there)
    expect(refused is None, f"it refuses a call that its rules take, in {dtype}: {refused}")
    expect(_calls(table, made) > before, f"the call in {dtype} did not reach it")
    return got


def _calls(table: KernelTable, made: KernelOp) -> int:
    (count,) = [each for each in table.counts() if (each.op, each.kernel) == (made.kernel.op, str(made.kernel))]
    return count.calls
