"""Two reports of one device, an earlier and a later one: what got worse, what got better, what can't be compared."""

from __future__ import annotations

from pydantic import Field, computed_field

from accelplug.conformance import levels
from accelplug.conformance.records import AreaReport, Check, ConformanceReport, Outcome
from accelplug.conformance.summary import DIRECTIONS, OPS
from accelplug.errors import BadInputError
from accelplug.specs import Record

MOST_NAMED = 3  # checks that only one report has
# How well an operator goes, where the check passes either way. "right" says that nobody counts who ran it.
BETTER_WAYS = {"native": 2, "fallback": 1}


class Change(Record):
    """One check that went another way. ``why`` is what the later report says of it, or the earlier where it is right
    now."""

    area: str
    name: str
    before: str
    after: str
    why: str = ""


class Incomparable(Record):
    """An area of which the two reports don't say the same kind of thing."""

    area: str
    why: str


class Comparison(Record):
    """What changed from one report to another one of the same device.

    worse, better
        Checks that are in both reports and went another way. An operator that fell back to the CPU got worse.
    incomparable
        Areas that only one report has, whose checks asked something else, or of which each report has checks that the
        other one lacks.
    before, after
        What ran, as the reports say it: software with versions, simulated or not; and the level.
    """

    device: str
    worse: tuple[Change, ...] = ()
    better: tuple[Change, ...] = ()
    incomparable: tuple[Incomparable, ...] = ()
    unchanged: int = Field(description="How many checks went the same way.")
    before: dict[str, str]
    after: dict[str, str]

    @computed_field(description="Nothing got worse.")  # type: ignore[prop-decorator]
    @property
    def ok(self) -> bool:
        return not self.worse


def compare(before: ConformanceReport, after: ConformanceReport) -> Comparison:
    """Raises BadInputError for reports of two devices: none of them is a later state of the other."""
    if before.device != after.device:
        raise BadInputError(
            f"a report of {before.device} and one of {after.device} can't be compared; give two of the same device"
        )
    found: list[tuple[bool, Change]] = []  # whether it is worse, and what it is
    incomparable, unchanged = [], 0
    for name in dict.fromkeys(area.name for report in (before, after) for area in report.areas):
        why, shared = _shared(*(report[name] if report.has(name) else None for report in (before, after)))
        if why:
            incomparable.append(Incomparable(area=name, why=why))
        changed = [(then, now) for then, now in shared if _rank(then) != _rank(now)]
        unchanged += len(shared) - len(changed)
        found += [(_rank(now) < _rank(then), _change(then, now)) for then, now in changed]
    found += _level(before, after)
    return Comparison(
        device=before.device,
        worse=tuple(change for is_worse, change in found if is_worse),
        better=tuple(change for is_worse, change in found if not is_worse),
        incomparable=tuple(incomparable),
        unchanged=unchanged,
        before=_ran(before),
        after=_ran(after),
    )


def _shared(before: AreaReport | None, after: AreaReport | None) -> tuple[str, list[tuple[Check, Check]]]:
    """The checks that both have, and why that isn't all."""
    if before is None or after is None:
        return f"only the {'earlier' if after is None else 'later'} report has it", []
    if before.version != after.version:
        return f"its checks asked something else (suite {before.version}, then {after.version})", []
    then = {check.name: check for check in before.checks}
    now = {check.name: check for check in after.checks}
    both = [(then[name], now[name]) for name in then if name in now]
    single = [name for name in (*then, *now) if (name in then) != (name in now)]
    if not single:
        return "", both
    shown = ", ".join(single[:MOST_NAMED]) + (" …" if len(single) > MOST_NAMED else "")
    return f"only one report has {shown} ({len(single)} in all)", both


def _change(then: Check, now: Check) -> Change:
    said = now.why or then.why or ", ".join(map(str, now.data.get("fell_back", ())))
    return Change(area=now.area, name=now.name, before=_said(then), after=_said(now), why=said)


def _rank(check: Check) -> tuple[int, ...]:
    """Larger is better."""
    outcome = {Outcome.passed: 2, Outcome.skipped: 1}.get(check.outcome, 0)
    ways = [check.data.get(direction) for direction in DIRECTIONS] if check.area == OPS else []
    return (outcome, *(BETTER_WAYS.get(str(way), 2) for way in ways))


def _said(check: Check) -> str:
    """``passed``; of an operator that passed ``passed (forward native, backward fallback)``."""
    ways = [f"{name} {check.data[name]}" for name in DIRECTIONS if check.area == OPS and name in check.data]
    return f"{check.outcome} ({', '.join(ways)})" if ways and not check.outcome.wrong else str(check.outcome)


def _level(before: ConformanceReport, after: ConformanceReport) -> list[tuple[bool, Change]]:
    """Whether another level is worse, and which it is; nothing for the same one, or where one report is a sample."""
    order = ["", *levels.names()]
    then, now = before.standing, after.standing
    if then.level == now.level or any(each.quick or each.only for each in (before, after)):
        return []
    is_worse = order.index(now.level) < order.index(then.level)
    why = "; ".join((now if is_worse else then).missing)
    names = {"before": then.level or "none", "after": now.level or "none"}
    return [(is_worse, Change(area="level", name="the level reached", why=why, **names))]


def _ran(report: ConformanceReport) -> dict[str, str]:
    return {
        "backend": report.backend,
        "torch": report.torch,
        "vLLM": report.vllm or "none",
        "accelplug": report.accelplug,
        "run on": "a simulation" if report.simulated else "hardware",
        **{name: report.details[name] for name in sorted(report.details)},
        "level": report.standing.level or "none",
        "started": report.started,
        "digest": report.digest,
    }
