"""What a check finds, what can be done about it, and the report of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, computed_field
from pydantic.json_schema import SkipJsonSchema

from accelplug.errors import AccelplugError
from accelplug.specs import Record
from accelplug.specs.word import Word


class FixError(AccelplugError):
    """A fix that did not work; the message says what stands in the way."""


class Level(Word):
    """How bad it is: ``error`` means that something a person can ask for does not work."""

    ok = "ok"
    warning = "warning"
    error = "error"


@dataclass(frozen=True)
class Fix:
    """What ``--fix`` does about a finding.

    ``apply`` does it and returns what was done; it raises FixError where that failed. ``removes`` is True where
    something that accelplug did not install is taken away: a person has to agree.
    """

    action: str
    apply: Callable[[], str]
    removes: bool = False


class Finding(Record):
    """One thing that was checked: how it stands, what to do about it, and what the judgement rests on."""

    check: str
    level: Level = Level.ok
    summary: str
    remedy: str = ""
    details: dict[str, str] = Field(default_factory=dict)
    fix: Annotated[SkipJsonSchema[Fix | None], Field(exclude=True)] = None

    @computed_field(description="Whether `accelplug doctor --fix` can put it right.")  # type: ignore[prop-decorator]
    @property
    def fixable(self) -> bool:
        return self.fix is not None


class Action(Record):
    """One fix that was applied, failed, or was declined, and what it said."""

    check: str
    action: str
    outcome: Literal["done", "failed", "declined"]
    said: str


class Report(Record):
    """All findings, as they stand after ``actions``."""

    findings: tuple[Finding, ...]
    actions: tuple[Action, ...] = ()

    @computed_field(description="How many findings there are of each level.")  # type: ignore[prop-decorator]
    @property
    def counts(self) -> dict[Level, int]:
        return {level: sum(f.level is level for f in self.findings) for level in Level}
