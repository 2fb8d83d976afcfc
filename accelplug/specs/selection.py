"""The report of a choice: every candidate, its verdict and reason, who was chosen and what decided it."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from accelplug import show
from accelplug.specs.device import RanOn
from accelplug.specs.probe import Probe, Verdict
from accelplug.specs.record import Record


class Candidate(Record):
    """One backend as it stands on this host: what its probe said, and where the backend came from.

    The other fields are those of its `DeviceSpec` and its `Probe`. A backend that didn't load has a name, which is its
    title too, and a verdict with its reason.

    probe_ms
        Milliseconds that the probe took.
    distribution
        The package that brings the backend, with its version.
    """

    name: str
    title: str
    verdict: Verdict
    reason: str
    remedy: str = ""
    probe_ms: float = 0.0
    simulated: bool = False
    count: int = 0
    priority: int = 0
    torch_type: str = ""
    ran_on: RanOn = RanOn.nothing
    details: dict[str, str] = Field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    distribution: str = ""
    error: str = Field(default="", description="The traceback, where the verdict is `broken`.")

    @property
    def usable(self) -> bool:
        """Whether it can be made live here."""
        return self.verdict is Verdict.usable

    @property
    def probe(self) -> Probe:
        """What the backend's probe said, as hooks are given it."""
        return Probe(**{name: getattr(self, name) for name in Probe.model_fields})


class Selection(Record):
    """Who was chosen among all candidates, and what decided it.

    ``chosen`` is None where nothing that was asked for is usable. ``candidates`` are in the order in which ``auto``
    prefers them. ``requested`` is what was asked for: "auto", a name, or names in order of preference.
    ``selection["neuron"]`` is one candidate; it raises KeyError for a name that no backend has.
    """

    chosen: str | None
    candidates: tuple[Candidate, ...]
    decided_by: str
    requested: str = "auto"

    def __getitem__(self, name: str) -> Candidate:
        for candidate in self.candidates:
            if candidate.name == name:
                return candidate
        raise KeyError(name)

    def __len__(self) -> int:
        return len(self.candidates)

    def names(self) -> Iterator[str]:
        """Of all candidates, in their order."""
        return (candidate.name for candidate in self.candidates)

    def __str__(self) -> str:
        return show.selection_text(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return show.selection_html(self)


class Explanation(Record):
    """The long form of a selection: for one device or all of them, what was looked at, found, and what to do.

    ``device`` is the one that it is about, None for all. ``settings`` are those that are set, each with its value and
    where that comes from: ``{"device": "neuron (ACCELPLUG_DEVICE)"}``.
    """

    selection: Selection
    device: str | None = None
    settings: dict[str, str] = Field(default_factory=dict)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The candidates that the explanation is about."""
        if self.device is None:
            return self.selection.candidates
        return (self.selection[self.device],)

    def __str__(self) -> str:
        return show.explanation_text(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return show.explanation_html(self)
