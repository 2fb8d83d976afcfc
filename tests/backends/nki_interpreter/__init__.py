"""Runs the bodies of NKI kernels on the CPU, for tests: just the calls they use, with the limits that AWS documents.

It is no compiler, and not AWS's simulator. A body is run as the Python that it is, in order; engines, queues, timing
and scheduling are not modelled, nor which Python the NKI compiler takes, nor how an engine rounds or approximates.
What it does is refuse: a call or an argument that it doesn't know, a tile of more than 128 partitions, more than
192 KiB of SBUF or 16 KiB of PSUM in a partition at once (as far as Python still holds the tiles), an operand in the
wrong memory or of the wrong dtype, an engine that doesn't have the instruction, a write to an argument, a result that
isn't written in full, cores that disagree. Memory that was not written holds NaN.

Source of the rules: the API reference and the guides of NKI 0.6 (SDK 2.32), in AWS's public documentation.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch

from nki_interpreter import isa, language
from nki_interpreter.tensors import HBM, RuleError, Tile, machine

__all__ = ["RuleError", "importable", "run"]


def run(body: Callable[..., Any], *arguments: Any, cores: int = 1) -> torch.Tensor:
    """The result of a body for these tensors and numbers, run once for each core of a logical one.

    Raises RuleError where a rule is broken.
    """
    results = [_run_on(core, cores, body, arguments) for core in range(cores)]
    combined = results[0].data.clone()
    written = results[0].storage.written.clone()
    for other in results[1:]:
        both = written & other.storage.written
        # Not bit for bit: the host's exp differs in the last bit with where its operand lies in memory.
        if not torch.allclose(combined[both].double(), other.data[both].double(), rtol=1e-6, equal_nan=True):
            raise RuleError("two cores wrote different values to the same place")
        combined[other.storage.written] = other.data[other.storage.written]
        written |= other.storage.written
    if not bool(written.all()):
        raise RuleError(f"{int((~written).sum())} elements of the result were never written")
    return combined


def _run_on(core: int, cores: int, body: Callable[..., Any], arguments: tuple[Any, ...]) -> Tile:
    machine.start(core, cores)
    given = [Tile.argument(value) if isinstance(value, torch.Tensor) else value for value in arguments]
    result = body(*given)
    if not isinstance(result, Tile) or result.storage.place is not HBM or result.storage.argument:
        raise RuleError(f"the body returned {result!r}, not a tensor that it made in shared_hbm")
    return result


@contextlib.contextmanager
def importable() -> Iterator[None]:
    """``import nki`` gives the interpreter inside. There is no ``nki.jit``: nothing is compiled."""
    package = types.ModuleType("nki")
    package.__path__ = []
    package.language, package.isa = language, isa  # type: ignore[attr-defined]
    modules = {"nki": package, "nki.language": language, "nki.isa": isa}
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
