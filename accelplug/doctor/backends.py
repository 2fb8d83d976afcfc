"""Does each backend load and answer, and is the device that would be used the one that was asked for?"""

from __future__ import annotations

from collections.abc import Iterator

from accelplug import settings, show
from accelplug.doctor.finding import Finding, Level
from accelplug.errors import BadInputError
from accelplug.probing import probe_all
from accelplug.selection import choose
from accelplug.specs import Candidate, Host, Selection, Verdict


def checks(host: Host) -> Iterator[Finding]:
    """One finding on the choice, and one for each backend."""
    try:
        sourced = settings.read(host.environ)
    except BadInputError:
        summary = "not checked, because the settings can't be read"
        yield Finding(check="backends", level=Level.warning, summary=summary, remedy="see the finding on settings")
        return
    try:
        selection = choose(sourced, host=host)
    except BadInputError as error:
        yield Finding(check="device", level=Level.error, summary=str(error), remedy="correct the name or unset it")
        candidates = probe_all(sourced.values, host)
    else:
        yield _device(selection)
        candidates = selection.candidates
    yield from (_backend(candidate) for candidate in candidates)


def _device(selection: Selection) -> Finding:
    if selection.chosen is not None:
        return Finding(check="device", summary=show.headline(selection))
    remedy = f"see the verdicts below, or ask for a usable device instead (asked by {selection.decided_by})"
    return Finding(check="device", level=Level.error, summary=show.headline(selection), remedy=remedy)


def _backend(candidate: Candidate) -> Finding:
    check, summary = f"backend {candidate.name}", f"{candidate.verdict}: {candidate.reason}"
    if candidate.verdict is Verdict.broken:
        return Finding(
            check=check,
            level=Level.error,
            summary=f"{summary} ({candidate.distribution})",
            remedy=candidate.remedy
            or f"install another version of {candidate.distribution}, uninstall it, or leave it out: "
            "list the backends to use in ACCELPLUG_BACKENDS",
            details={"traceback": candidate.error} if candidate.error else {},
        )
    stopped = candidate.verdict in (Verdict.no_driver, Verdict.no_software, Verdict.timeout)
    level = Level.warning if stopped and candidate.remedy else Level.ok
    return Finding(check=check, level=level, summary=summary, remedy=candidate.remedy)
