"""Two runs side by side: what got quicker, what slower, and what can't be compared."""

from __future__ import annotations

from accelplug.bench.records import Bench, Measured
from accelplug.errors import BadInputError
from accelplug.specs import Record

NOISE = 0.10  # less of a change than this is none, even where the rounds don't overlap


class WorkloadChange(Record):
    """One workload of one device, before and now. ``ratio`` is now by before: below 1 is quicker."""

    device: str
    step: str
    name: str
    before: float
    now: float
    ratio: float
    verdict: str


class BenchComparison(Record):
    """What changed between two runs. ``other``: what differs besides, so that a reader knows what is compared."""

    changes: tuple[WorkloadChange, ...]
    other: tuple[str, ...] = ()

    @property
    def slower(self) -> tuple[WorkloadChange, ...]:
        return tuple(change for change in self.changes if change.verdict in ("slower", "broken"))


def compare(now: Bench, before: Bench) -> BenchComparison:
    """Raises BadInputError where the two have no device, or no sizes, in common."""
    if (now.setup.model, now.setup.dtype) != (before.setup.model, before.setup.dtype):
        raise BadInputError(
            f"the runs are of {now.setup.model.name} in {now.setup.dtype} and {before.setup.model.name} in "
            f"{before.setup.dtype}; only equal sizes and dtypes can be compared"
        )
    common = [name for name in now.setup.devices if name in before.setup.devices]
    if not common:
        raise BadInputError(
            f"the runs have no device in common: {', '.join(now.setup.devices)}, and {', '.join(before.setup.devices)}"
        )
    changes = [
        _change(name, measured, earlier)
        for name in common
        for measured in now[name].measured
        if (earlier := before[name].get(measured.key)) is not None and not (measured.error and earlier.error)
    ]
    other = [
        f"{field}: {getattr(before.setup, field)}, now {getattr(now.setup, field)}"
        for field in ("accelplug", "torch", "system")
        if getattr(now.setup, field) != getattr(before.setup, field)
    ]
    return BenchComparison(changes=tuple(changes), other=tuple(other))


def _change(device: str, now: Measured, before: Measured) -> WorkloadChange:
    ratio = now.seconds / before.seconds if now.seconds and before.seconds else 0.0
    return WorkloadChange(
        device=device,
        step=now.step,
        name=now.name,
        before=before.seconds,
        now=now.seconds,
        ratio=ratio,
        verdict=_verdict(now, before, ratio),
    )


def _verdict(now: Measured, before: Measured, ratio: float) -> str:
    if now.error:
        return "broken"
    if before.error:
        return "runs now"
    if ratio > 1 + NOISE and now.least > before.greatest:
        return "slower"
    if ratio < 1 - NOISE and now.greatest < before.least:
        return "quicker"
    return "same"
