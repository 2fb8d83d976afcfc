"""Are the settings readable, and do all ACCELPLUG_* variables mean something?"""

from __future__ import annotations

from collections.abc import Iterator

from accelplug import settings
from accelplug.doctor.finding import Finding, Level
from accelplug.errors import BadInputError
from accelplug.specs import Host


def checks(host: Host) -> Iterator[Finding]:
    """One finding for each misspelt variable, and one on the settings in force."""
    for sentence in settings.misspelt(host.environ):
        yield Finding(check="settings", level=Level.warning, summary=sentence, remedy="correct the name or unset it")
    try:
        described = settings.read(host.environ).described()
    except BadInputError as error:
        yield Finding(check="settings", level=Level.error, summary=str(error), remedy="correct the value or unset it")
    else:
        in_force = ", ".join(f"{name} = {value}" for name, value in described.items())
        yield Finding(check="settings", summary=in_force or "nothing set, all defaults")
