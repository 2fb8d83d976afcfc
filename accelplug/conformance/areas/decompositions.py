"""The device's decomposition table is built, is the same in every process, and what it adds is right. (C12)"""

from __future__ import annotations

import functools
import hashlib
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from accelplug import tables
from accelplug.conformance.checks import NamedCheck, Skip, check, expect
from accelplug.conformance.opinfo import operators, samples
from accelplug.conformance.programs import beside, output
from accelplug.conformance.subject import Subject
from accelplug.plugins import ask
from accelplug.specs import Decompositions
from accelplug.tables.decompositions import Table

FINGERPRINT = """
from accelplug import tables
import torch
print(tables.tables_for(torch.device(D).type).decompositions().fingerprint)
"""
MOST_CALLS = 12  # of each operator that are compared
TOLERANCE = 1e-4


def _table(subject: Subject) -> Table:
    device = tables.tables_for(subject.type)
    if device is None:
        raise Skip("the backend has neither decompositions nor a compiler of its own: PyTorch's table serves")
    return device.decompositions()


def _stock() -> str:
    """A digest of PyTorch's own tables and lowerings."""
    from torch._decomp import decomposition_table
    from torch._inductor import decomposition, lowering

    stock = (decomposition_table, decomposition.decompositions, lowering.lowerings)
    entries = [f"{op}={id(function)}" for table in stock for op, function in table.items()]
    return hashlib.sha256("\n".join(entries).encode()).hexdigest()


@check("correct the hook accelplug_decompositions: the error names the operator", limit=180)
def the_table_is_built_and_pytorchs_own_is_not_changed(subject: Subject) -> dict[str, Any]:
    before = _stock()
    table = _table(subject)
    expect(_stock() == before, "PyTorch's decomposition table or Inductor's lowerings were changed")
    return {"operators": len(table), "left_whole": len(table.whole), "fingerprint": table.fingerprint}


@check("hold nothing in a decomposition that differs between processes: addresses, sets, times")
def another_process_has_the_same_fingerprint(subject: Subject) -> dict[str, Any]:
    here = _table(subject).fingerprint
    there = output(FINGERPRINT, live=beside(subject), PYTHONHASHSEED="1", limit=110).split()[-1]
    expect(there == here, f"here it is {here}, in another process {there}")
    return {"fingerprint": here}


def checks(subject: Subject) -> list[NamedCheck]:
    """The above, and one check for each operator that the backend takes apart itself."""
    changes = ask(subject.backend, "accelplug_decompositions", Decompositions)
    added = changes.add if changes else {}
    remedy = "compare the function with the operator on the CPU: values, dtypes and shapes have to agree"
    of_ops = [NamedCheck(str(op), functools.partial(_right, op, function), remedy) for op, function in added.items()]
    return [*CHECKS, *of_ops]  # type: ignore[name-defined]  # noqa: F821


class _Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Keeps the calls of one operator: arguments before the call, and its results."""

    def __init__(self, op: Any) -> None:
        super().__init__()
        self.op = op
        self.calls: list[tuple[Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is not self.op:
            return func(*args, **kwargs)
        given = _copies((args, kwargs))
        result = func(*args, **kwargs)
        self.calls.append((*given, _copies(result)))
        return result


def _copies(values: Any) -> Any:
    return tree_map(lambda value: value.detach().clone() if isinstance(value, torch.Tensor) else value, values)


def _right(op: Any, function: Any, subject: Subject) -> dict[str, Any]:
    """On the CPU, with the arguments that the operator gets when PyTorch runs its samples, backward too."""
    compared = 0
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        for args, kwargs, wanted in _calls(op):
            torch.manual_seed(0)
            got = function(*args, **kwargs)
            if got is NotImplemented:
                continue
            compared += 1
            for ours, right in zip(tree_leaves(got), tree_leaves(wanted), strict=True):
                if isinstance(right, torch.Tensor):
                    torch.testing.assert_close(ours, right, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    if not compared:
        raise Skip("none of PyTorch's samples calls the operator so that the function takes it apart")
    return {"compared": compared}


def _calls(op: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Calls of an operator while PyTorch's samples of its family run, in float32."""
    family = op.overloadpacket.__name__.strip("_").replace("_backward", "")
    found = 0
    for name, info in operators(torch.float32).items():
        if not _of_family(name, info, family):
            continue
        for sample in samples(info, torch.float32, requires_grad=info.supports_autograd):
            with _Recorder(op) as recorder:
                _run(info, sample)
            for call in recorder.calls:
                yield call
                found += 1
                if found >= MOST_CALLS:
                    return


def _of_family(name: str, info: Any, family: str) -> bool:
    """Whether an operator's samples may call one of the family: ``silu`` is ``nn.functional.silu``'s too."""
    named = {name.rpartition(".")[2], info.name.rpartition(".")[2], info.aten_name, *(a.name for a in info.aliases)}
    return any(family in each or each in family for each in named if len(each) > 1)


def _run(info: Any, sample: Any) -> None:
    """Forward, and backward where there is one; what the CPU can't compute has no calls to compare."""
    try:
        with torch.enable_grad():
            results = tree_leaves(info(sample.input, *sample.args, **sample.kwargs))
            sums = [x.sum() for x in results if isinstance(x, torch.Tensor) and x.requires_grad and not x.is_complex()]
            if sums:
                functools.reduce(torch.add, sums).backward()
    except Exception:
        return
