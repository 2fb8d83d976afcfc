"""Where the counts of what ran on the CPU in the device's place come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from pydantic import Field

from accelplug.specs.record import Record


class OpCount(Record):
    """One operator on one device, since the counts were last reset.

    op
        ``"aten::add.Tensor"``.
    native
        Whether the device ran it; False: the CPU did.
    calls
        How often; None where the SDK only says that.
    bytes
        Of its operands and results together, which a device with memory of its own would move; None: unknown.
    nanoseconds
        Spent in it; None: not measured.
    device
        The device's index; None where the SDK doesn't say.
    compiled
        It is in a compiled graph, whose list of operators is counted at each run.
    reason
        Why the CPU ran it, as the SDK says; "" where the SDK has no kernel for it.
    """

    op: str
    native: bool
    calls: int | None = None
    bytes: int | None = None
    nanoseconds: int | None = None
    device: int | None = None
    compiled: bool = False
    reason: str = ""


class Transfers(Record):
    """Copies between host and device, by direction: how often, and bytes."""

    to_device_calls: int = 0
    to_device_bytes: int = 0
    to_host_calls: int = 0
    to_host_bytes: int = 0
    within_calls: int = 0
    within_bytes: int = 0


class StepTransfers(Record):
    """What crossed between host and device in a server's steps: those that computed tokens, its start left out."""

    steps: int = 0
    to_device_calls: int = 0
    to_device_bytes: int = 0
    to_host_calls: int = 0
    to_host_bytes: int = 0


class Budget(Record):
    """How much may fall back: so many calls, or bytes, of all operators that match ``ops`` together.

    ``ops`` is a pattern as in a shell: ``"aten::fill_*"``. A limit of 0 allows none.
    """

    unit: Literal["calls", "bytes"]
    limit: int = Field(ge=0)
    ops: str = "*"

    def __str__(self) -> str:
        return f"{self.ops}:{self.unit}={self.limit}" if self.ops != "*" else f"{self.unit}={self.limit}"


class Watcher(Protocol):
    """What a source tells, in the thread where an operator falls back and while it runs. ``site`` is where in the
    user's code that is, "" where Python's stack says so."""

    def noticed(self, op: str, device: int, calls: int, first: bool, site: str) -> None:
        """It fell back for the first time after a reset, or has reached 10 calls, 100, and so on."""

    def refused(self, op: str, device: int, budget: Budget | None, spent: int, site: str) -> Exception:
        """The exception to raise: fallbacks are forbidden (None), or ``spent`` is beyond the budget."""


class FallbackSource(Record):
    """How the device's SDK is asked about fallbacks to the CPU. What is None it can't do.

    read
        The counts since the last reset.
    reset
        Sets them to zero, and what budgets have spent.
    transfers
        The copies between host and device since then.
    measure_time
        Measures each call's time from now on, or not.
    watch
        Gives the SDK somebody to tell of the first fallback of each operator, and of refusals.
    forbid
        Makes the SDK refuse to fall back (True), or allow it again.
    limit
        Sets one budget more, and returns the function that lifts it. Raises ValueError where there are too many.
    """

    read: Callable[[], Sequence[OpCount]]
    reset: Callable[[], None]
    transfers: Callable[[], Transfers] | None = None
    measure_time: Callable[[bool], None] | None = None
    watch: Callable[[Watcher], None] | None = None
    forbid: Callable[[bool], None] | None = None
    limit: Callable[[Budget], Callable[[], None]] | None = None
