"""What conformance finds: one record for each check, in areas, in one report that can be kept and compared."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import Field, computed_field

from accelplug.specs import RanOn, Record
from accelplug.specs.word import Word


class Outcome(Word):
    """How a check ended. ``failed``: the device does something else than it should; ``error``: it couldn't be seen,
    as something unexpected was raised, the process crashed, or it took too long."""

    passed = "passed"
    failed = "failed"
    skipped = "skipped"
    error = "error"

    @property
    def wrong(self) -> bool:
        return self in (Outcome.failed, Outcome.error)


class Check(Record):
    """One statement about the device, and whether it holds.

    ``name`` is the statement; in the area `ops` it is the operator. ``why`` says what was seen instead, or why the
    check was skipped; ``remedy`` what to do. ``data`` is what was measured: the fields depend on the area.
    """

    area: str
    name: str
    outcome: Outcome
    why: str = ""
    remedy: str = ""
    seconds: float = 0.0
    data: dict[str, Any] = Field(default_factory=dict)


class AreaReport(Record):
    """The checks of one area. ``version`` stands for the code of its checks: equal versions asked the same."""

    name: str
    title: str
    version: str
    checks: tuple[Check, ...]

    @computed_field(description="The time that its checks took together, which may have run at the same time.")  # type: ignore[prop-decorator]
    @property
    def seconds(self) -> float:
        return round(sum(check.seconds for check in self.checks), 3)

    @computed_field(description="How many checks ended in each way.")  # type: ignore[prop-decorator]
    @property
    def counts(self) -> dict[Outcome, int]:
        return {outcome: sum(check.outcome is outcome for check in self.checks) for outcome in Outcome}

    @computed_field(description="No check failed or ended in an error.")  # type: ignore[prop-decorator]
    @property
    def ok(self) -> bool:
        return not any(check.outcome.wrong for check in self.checks)


class Standing(Record):
    """How far a device gets: the `level` it reaches ("" for none), and what stands between it and the next one.

    ``statement`` is what the level says. ``missing`` has a line for each area that the level ``next`` asks more of;
    with neither, the last level is reached.
    """

    level: str = ""
    statement: str = ""
    next: str = ""
    missing: tuple[str, ...] = ()


class ConformanceReport(Record):
    """What of PyTorch works on one device, and on what that judgement rests.

    simulated
        A simulation stood in for the vendor's SDK: nothing here says anything about hardware.
    ran_on
        The best that the backend's authors say their device path has been run on.
    backend
        The distribution that brings the backend, with its version.
    quick
        Only a sample of the checks was run.
    only
        The patterns that limited the checks; empty: all.
    details
        What the probe says about driver, model and so on.
    vllm
        The version of vLLM; empty where there is none.
    content
        A digest for each piece of software that ran, and of the simulator's profile: equal digests, equal files.
    standing
        The level reached.
    """

    device: str
    title: str
    simulated: bool
    ran_on: RanOn
    verdict: str
    reason: str
    backend: str
    accelplug: str
    torch: str
    vllm: str = ""
    python: str
    system: str
    details: dict[str, str] = Field(default_factory=dict)
    content: dict[str, str] = Field(default_factory=dict)
    quick: bool = False
    only: tuple[str, ...] = ()
    started: str = Field(description="ISO 8601, in UTC.")
    seconds: float
    areas: tuple[AreaReport, ...]
    standing: Standing = Standing()

    @computed_field(description="Stands for all that ran: software, driver, device and checks. Equal: the same ran.")  # type: ignore[prop-decorator]
    @property
    def digest(self) -> str:
        suite = {area.name: area.version for area in self.areas}
        ran = [self.device, self.simulated, self.system, self.python, self.details, self.content, suite]
        return hashlib.sha256(json.dumps(ran, sort_keys=True).encode()).hexdigest()[:12]

    @computed_field(description="How many checks of all areas ended in each way.")  # type: ignore[prop-decorator]
    @property
    def counts(self) -> dict[Outcome, int]:
        return {outcome: sum(area.counts[outcome] for area in self.areas) for outcome in Outcome}

    @computed_field(description="Nothing is wrong: no check failed or ended in an error.")  # type: ignore[prop-decorator]
    @property
    def ok(self) -> bool:
        return all(area.ok for area in self.areas)

    def __getitem__(self, area: str) -> AreaReport:
        for found in self.areas:
            if found.name == area:
                return found
        raise KeyError(area)

    def has(self, area: str) -> bool:
        """Whether the area was examined."""
        return any(found.name == area for found in self.areas)

    def wrong(self) -> tuple[Check, ...]:
        """The checks that failed or ended in an error."""
        return tuple(check for area in self.areas for check in area.checks if check.outcome.wrong)
