"""Which kernel would run one call of an operator, and why the others would not."""

from __future__ import annotations

from html import escape

from accelplug.specs.device import RanOn
from accelplug.specs.kernel import Level
from accelplug.specs.record import Record
from accelplug.specs.word import Word


class Outcome(Word):
    """What becomes of a kernel for a call.

    runs
        It takes the call.
    outranked
        It would take the call, and another comes before it.
    refuses
        It doesn't take such calls.
    off
        A setting or a scope keeps it from running.
    unavailable
        It can't be loaded here.
    """

    runs = "runs"
    outranked = "outranked"
    refuses = "refuses"
    off = "off"
    unavailable = "unavailable"


class KernelOutcome(Record):
    """One kernel and what becomes of it; ``reason`` is "" where it runs."""

    kernel: str
    level: Level
    ran_on: RanOn
    outcome: Outcome
    reason: str = ""


class OpExplanation(Record):
    """What ``accelplug explain --op`` says.

    ``call`` is the call as text, ``live`` whether the device is live in this process, ``loaded`` whether kernels were
    loaded to see if they are there, ``kernels`` are in the order in which they are tried, and ``otherwise`` is what
    runs where none takes the call.
    """

    op: str
    device: str
    simulated: bool
    live: bool
    loaded: bool
    call: str
    kernels: tuple[KernelOutcome, ...]
    otherwise: str

    @property
    def runs(self) -> str | None:
        """The kernel that takes the call, None where none does."""
        return next((each.kernel for each in self.kernels if each.outcome is Outcome.runs), None)

    def headline(self) -> str:
        """The answer in one line."""
        device = f"{self.device}{' (simulated)' if self.simulated else ''}"
        if self.runs is None:
            return f"{self.call} on {device}: no kernel"
        return f"{self.call} on {device}: {self.runs}{', its reference in its place' if self.simulated else ''}"

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Each kernel as a row: its name, level, what becomes of it, why, and what it has been run on."""
        return [
            (each.kernel, str(each.level), str(each.outcome), each.reason, _RAN_ON[each.ran_on])
            for each in self.kernels
        ]

    def __str__(self) -> str:
        lines = [" ".join(cell for cell in row if cell) for row in self.rows()]
        return "\n".join([self.headline(), *(f"  {line}" for line in lines), f"  then: {self.otherwise}"])

    def _repr_html_(self) -> str:
        rows = ["".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row) for row in self.rows()]
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<p>{escape(self.headline())}</p><table>{body}</table><p>then: {escape(self.otherwise)}</p>"


_RAN_ON = {
    RanOn.hardware: "run on hardware",
    RanOn.simulator: "run on the simulator, not yet on hardware",
    RanOn.nothing: "not yet run on hardware",
}
