"""A device's kernels for those who choose among implementations themselves, in Python, as vLLM's IR does.

They are asked with the clauses, the scopes and the settings that the table asks with, and counted with its counts.
"""

from __future__ import annotations

from typing import Any

from accelplug.errors import AccelplugError, FallbackRefusedError
from accelplug.tables import predicate, scope
from accelplug.tables.kernel_ops import KernelOp
from accelplug.tables.kernels import KernelTable


class PassedOnError(AccelplugError):
    """A kernel doesn't take a call after all. The next implementation gets it."""


class Offer:
    """One kernel. A call that it `takes` is made by calling it, with all arguments of the operator it stands for."""

    def __init__(self, table: KernelTable, made: KernelOp) -> None:
        self.made = made
        self._table = table
        self._may_run: dict[int, bool] = {}  # by scope
        self._there: bool | None = None

    def __str__(self) -> str:
        return str(self.made.kernel)

    def takes(self, *arguments: Any) -> bool:
        """Whether the kernel may run in the scope that this thread is in, is there, and takes the call.

        What it refuses is counted, by the first clause that the call doesn't meet.
        """
        number = scope.current()
        if number not in self._may_run:
            self._may_run[number] = self._table.refusal(self.made.kernel, scope.state(number)) is None
        if not self._may_run[number] or not self._is_there():
            return False
        if refused := predicate.failing(self.made.clauses, arguments):
            self.made.offered.refused[refused[0]] += 1
            return False
        if self.made.refuses(*arguments):
            self.made.offered.passed_on += 1
            return False
        return True

    def _is_there(self) -> bool:
        if self._there is None:
            self._there = self.made.load()
        return self._there

    def __call__(self, *arguments: Any) -> Any:
        """What the kernel computes. Raises PassedOnError where it doesn't take the call after all."""
        try:
            result = self.made.op(*arguments)
        except FallbackRefusedError:  # inside the kernel; it is a NotImplementedError to PyTorch's users
            raise
        except NotImplementedError as error:
            self.made.said[str(error) or "NotImplementedError"] += 1
            self.made.offered.passed_on += 1
            raise PassedOnError(f"kernel {self} left a call of {self.made.kernel.op} to the next: {error}") from error
        self.made.offered.calls += 1
        return result


def offers(table: KernelTable, op: str) -> list[Offer]:
    """The kernels of ``"accelplug::rms_norm"`` that the settings allow, in the order in which the table tries them."""
    return [Offer(table, made) for made in table.order(op)]
