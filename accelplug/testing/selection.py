"""Which of a project's tests run, which are known to fail, and why: one YAML file, with a reason for everything."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from pydantic import Field, ValidationError

from accelplug.errors import BadInputError, did_you_mean
from accelplug.specs import Record


class Excepted(Record):
    """Tests that don't run, or fail, for one reason.

    ``tests`` are patterns for the whole of a test's id ("tests/ir/test_op.py::test_order[*"), where only * is special.
    ``devices`` are those it is so on; empty means all.
    """

    tests: tuple[str, ...] = Field(min_length=1)
    why: str = Field(min_length=1)
    devices: tuple[str, ...] = ()

    def pattern_for(self, test: str, device: str) -> str | None:
        """The pattern that takes in ``test``, None where none does."""
        if self.devices and device not in self.devices:
            return None
        return next((pattern for pattern in self.tests if _compiled(pattern).fullmatch(test)), None)


class Group(Record):
    """Tests that belong together. ``paths`` are files or folders; ``why`` is what their passing says.

    ``leave_out`` don't run. ``xfail`` run and have to fail: one that passes is an error, as its entry is out of date.
    """

    name: str
    why: str = Field(min_length=1)
    paths: tuple[str, ...] = Field(min_length=1)
    leave_out: tuple[Excepted, ...] = ()
    xfail: tuple[Excepted, ...] = ()

    def has(self, test: str) -> bool:
        file = test.partition("::")[0]
        return any(file == path or file.startswith(path.rstrip("/") + "/") for path in self.paths)


class DroppedCall(Record):
    """Statements that only call this function are left out."""

    call: str
    why: str = Field(min_length=1)


class OptionalNames(Record):
    """An attribute of this dotted name that isn't there is None, so that a file which lists it can be imported."""

    of: str
    why: str = Field(min_length=1)


class Rebound(Record):
    """A name of a test file gets another value: ``statement`` runs right after the one that gives it its first."""

    file: str
    name: str
    statement: str
    why: str = Field(min_length=1)


class LeftOut(Record):
    """Files that don't run at all."""

    paths: tuple[str, ...] = Field(min_length=1)
    why: str = Field(min_length=1)


class Selection(Record):
    """The whole file. ``written_for`` is the project's version that it was checked with."""

    written_for: str
    groups: tuple[Group, ...] = Field(min_length=1)
    drop_calls: tuple[DroppedCall, ...] = ()
    optional_names: tuple[OptionalNames, ...] = ()
    rebound: tuple[Rebound, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def only(self, names: Iterable[str]) -> Selection:
        """With these groups alone; all where ``names`` is empty. Raises BadInputError for a name that no group has."""
        known = [group.name for group in self.groups]
        for name in (names := [*names]):
            if name not in known:
                raise BadInputError(
                    f"--accelplug-upstream-select {name}: no such group{did_you_mean(name, known)}; "
                    f"known: {', '.join(known)}"
                )
        return self.model_copy(update={"groups": tuple(g for g in self.groups if not names or g.name in names)})

    def group_of(self, test: str) -> Group | None:
        return next((group for group in self.groups if group.has(test)), None)


def read(file: Path) -> Selection:
    """Raises BadInputError where the file isn't right, and says what is wrong with which field."""
    if find_spec("yaml") is None:
        raise BadInputError("upstream tests need the package PyYAML: pip install 'accelplug[upstream]'")
    import yaml

    try:
        return Selection.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
    except (yaml.YAMLError, ValidationError) as error:
        raise BadInputError(f"{file.name}: {error}") from None


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
