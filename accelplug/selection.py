"""Chooses a device and says why. The same on every run: explicit, then setting, then priority, then name."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from accelplug.errors import BadInputError, DeviceUnusableError, UnknownDeviceError
from accelplug.probing import probe_all
from accelplug.settings import Sourced, split_names
from accelplug.specs import Candidate, Host, Selection

AUTO = "auto"


def choose(
    settings: Sourced,
    argument: str | None = None,
    asked_by: str = "argument",
    host: Host | None = None,
    refine: Callable[[Candidate], Candidate] = lambda candidate: candidate,
) -> Selection:
    """Probes and chooses; ``chosen`` is None where nothing that was asked for is usable.

    ``argument`` wins over the settings; "auto" leaves the choice to them, and what they simulate counts as asked for.
    ``refine`` lets a caller with further needs (the vLLM adapter) turn a usable candidate into an unusable one, with
    its reason.
    Raises UnknownDeviceError for a name that no backend has.
    """
    requested, decided_by = _request(settings, argument, asked_by)
    candidates = tuple(refine(c) if c.usable else c for c in probe_all(settings.values, host))
    _check_allow_list(settings, candidates)
    if requested == AUTO:
        chosen = _best(candidates, settings)
        decided_by = _reason_for_best(candidates, chosen, settings)
    else:
        chosen = _first_usable(split_names(requested), candidates, decided_by)
    return Selection(chosen=chosen, candidates=candidates, decided_by=decided_by, requested=requested)


def require(selection: Selection) -> Candidate:
    """The chosen candidate; raises DeviceUnusableError with every verdict where there is none."""
    if selection.chosen is None:
        raise DeviceUnusableError(selection)
    return selection[selection.chosen]


def _request(settings: Sourced, argument: str | None, asked_by: str) -> tuple[str, str]:
    if argument not in (None, "", AUTO):
        names = split_names(argument)
        if not names:
            raise BadInputError(f"device {argument!r} (from {asked_by}) names nothing; give auto or a device")
        return ",".join(names), asked_by
    if settings.values.device in ("", AUTO) and settings.values.profile:
        return settings.values.profile.name, settings.sources["simulate"]
    return settings.values.device or AUTO, settings.sources.get("device", "priority")


def _best(candidates: Iterable[Candidate], settings: Sourced) -> str | None:
    """The first usable one; the CPU only where it may be, and never a simulated one: those have to be asked for."""
    for candidate in candidates:
        if candidate.name == "cpu" and settings.values.cpu_fallback == "error":
            continue
        if candidate.usable and not candidate.simulated:
            return candidate.name
    return None


def _reason_for_best(candidates: Iterable[Candidate], chosen: str | None, settings: Sourced) -> str:
    usable = [c for c in candidates if c.usable]
    if chosen is None and usable:
        return f"cpu_fallback = error from {settings.sources['cpu_fallback']}"
    tied = [c for c in usable if c.name != chosen and c.priority == usable[0].priority]
    return "name (equal priority)" if tied else "priority"


def _first_usable(names: list[str], candidates: tuple[Candidate, ...], asked_by: str) -> str | None:
    by_name = {candidate.name: candidate for candidate in candidates}
    for name in names:
        if name == AUTO:
            raise BadInputError(f"{','.join(names)!r} (from {asked_by}): auto can't be one of several names")
        if name not in by_name:
            raise UnknownDeviceError(name, by_name, asked_by)
    return next((name for name in names if by_name[name].usable), None)


def _check_allow_list(settings: Sourced, candidates: tuple[Candidate, ...]) -> None:
    known = [c.name for c in candidates]
    for name in split_names(settings.values.backends):
        if name not in known:
            raise UnknownDeviceError(name, known, settings.sources["backends"])
