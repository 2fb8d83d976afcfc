"""Where the counts of what ran on the CPU in the device's place come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    reason
        Why the CPU ran it, as the SDK says; "" where the SDK has no kernel for it.
    """

    op: str
    native: bool
    calls: int | None = None
    bytes: int | None = None
    nanoseconds: int | None = None
    reason: str = ""


class FallbackSource(Record):
    """How the device's SDK is asked about fallbacks to the CPU.

    read
        The counts since the last reset.
    reset
        Sets them to zero.
    forbid
        Makes the SDK refuse to fall back (True), or allow it again; None where it can't.
    watch
        Gives the SDK a function to call, with the operator's name, the moment that an operator falls back for the first
        time after a reset, while it is running, so that the place in the user's code can be found; None where it can't.
    """

    read: Callable[[], Sequence[OpCount]]
    reset: Callable[[], None]
    forbid: Callable[[bool], None] | None = None
    watch: Callable[[Callable[[str], None]], None] | None = None
