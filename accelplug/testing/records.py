"""What came of a project's tests: one record for each, in one report that can be kept and compared."""

from __future__ import annotations

from collections import Counter

from accelplug.specs import Record
from accelplug.specs.word import Word
from accelplug.testing.selection import LeftOut


class Ended(Word):
    """How a test ended.

    ``relaxed`` is passed with a tolerance of `tolerances`' rule. ``xfailed`` failed as the selection says it does,
    ``error`` failed outside of the test itself: on import, or in a fixture. ``skipped`` skipped itself; ``left_out``
    didn't run, as the selection says.
    """

    passed = "passed"
    relaxed = "relaxed"
    xfailed = "xfailed"
    skipped = "skipped"
    left_out = "left_out"
    failed = "failed"
    error = "error"

    @property
    def good(self) -> bool:
        return self in (Ended.passed, Ended.relaxed)


class UpstreamTest(Record):
    """One test. ``why`` is empty where it passed. ``group`` is the selection's."""

    name: str
    group: str
    ended: Ended
    why: str = ""
    seconds: float = 0.0


class UpstreamReport(Record):
    """All of them, and what they ran on. ``out_of_date`` are entries of the selection that no test matched."""

    title: str
    version: str
    written_for: str
    device: str
    simulated: bool
    torch: str
    accelplug: str
    groups: dict[str, str]
    tests: tuple[UpstreamTest, ...]
    left_out: tuple[LeftOut, ...] = ()
    out_of_date: tuple[str, ...] = ()

    def count(self, group: str = "") -> Counter[Ended]:
        """How many ended in each way, in one group or in all."""
        return Counter(test.ended for test in self.tests if group in ("", test.group))

    @property
    def where(self) -> str:
        """``vLLM 0.32.0 on neuron (simulated)``."""
        return f"{self.title} {self.version} on {self.device}{' (simulated)' if self.simulated else ''}"

    @property
    def passed(self) -> int:
        return sum(test.ended.good for test in self.tests)
