"""What a backend's probe answers: a verdict, the reason, and what to do about it."""

from __future__ import annotations

from pydantic import Field, model_validator

from accelplug.specs.record import Record
from accelplug.specs.word import Word


class Verdict(Word):
    """Whether a backend's device can be used in this process, and if not, what stands in the way.

    usable
        It can be.
    no_hardware
        There is no such device in this machine.
    no_driver
        There is one, and no driver for it, or none that this user may open.
    no_software
        There is one, and its SDK or a PyTorch for it is missing, or of a version that can't be used.
    broken
        The backend failed to load, to describe itself or to probe.
    hidden
        An environment variable leaves this process none of the devices there are.
    disabled
        The setting `backends` leaves the backend out; it wasn't loaded.
    timeout
        Its probe took longer than it may.
    """

    usable = "usable"
    no_hardware = "no_hardware"
    no_driver = "no_driver"
    no_software = "no_software"
    broken = "broken"
    hidden = "hidden"
    disabled = "disabled"
    timeout = "timeout"


class Probe(Record):
    """What one look at the host found.

    ``count`` is the number of usable devices in the unit that PyTorch counts (``cuda:0`` … ``cuda:3`` is 4).
    ``reason`` says why the verdict is what it is, ``remedy`` what to do; a remedy is only given where hardware
    is seen or a person asked for it. ``evidence`` lists what was looked at and what was found there.
    """

    verdict: Verdict
    reason: str
    remedy: str = ""
    count: int = Field(default=0, ge=0)
    details: dict[str, str] = Field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    simulated: bool = False

    @model_validator(mode="after")
    def _usable_means_one_at_least(self) -> Probe:
        if self.verdict is Verdict.usable and self.count == 0:
            raise ValueError("a usable probe needs a count of at least 1; without devices it is no_hardware or hidden")
        return self
