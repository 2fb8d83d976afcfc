"""A ladder as people write it: ``16,32,64``, ``16,32,64..2048``, ``pow2:16..2048``, ``linear:64..512:64``."""

from __future__ import annotations

import itertools
import re
from typing import Literal

from pydantic import Field

from accelplug.buckets.ladder import Ladder
from accelplug.errors import BadInputError, did_you_mean
from accelplug.specs import Constraints
from accelplug.specs.constraints import Multiple
from accelplug.specs.record import Record

Form = Literal["sizes", "pow2", "linear", "geometric"]

FORMS = ("pow2", "linear", "geometric")
GRAMMAR = (
    "write sizes (16,32,64), a row that goes on (16,32,64..2048), pow2:FIRST..LAST, linear:FIRST..LAST:STEP or "
    "geometric:FIRST..LAST:COUNT; without LAST it ends at the longest length; /64 at the end makes all multiples of 64"
)
RANGE = re.compile(r"(?P<form>\w+):(?P<first>\d+)\.\.(?P<last>\d+)?(?::(?P<number>\d+))?")


class BucketPolicy(Record):
    """How a ladder is made, before the longest length is known. ``str()`` is what `parse` takes.

    form
        ``sizes``: those in ``sizes``. Otherwise the rule that makes them from ``first``, ``last`` and ``number``.
    last
        The largest bucket; None: the longest length that will come.
    number
        The step of ``linear``, the count of ``geometric``; None for the others.
    multiple
        All sizes are rounded up to multiples of it.
    """

    form: Form
    sizes: tuple[Multiple, ...] = ()
    first: int | None = Field(None, ge=1)
    last: int | None = Field(None, ge=1)
    number: int | None = Field(None, ge=1)
    multiple: Multiple = 1

    @classmethod
    def parse(cls, text: str) -> BucketPolicy:
        """Reads a ladder as people write it. Raises BadInputError, with the allowed forms, where it is none."""
        body, slash, multiple = text.replace(" ", "").partition("/")
        if slash and not _is_size(multiple):
            raise BadInputError(f"buckets {text!r}: {multiple!r} is no multiple; {GRAMMAR}")
        policy = _parse_rule(body, text) if ":" in body else _parse_sizes(body, text)
        policy = policy.model_copy(update={"multiple": int(multiple or 1)})
        policy.ladder(largest=policy.last or policy.first)  # what can't be a ladder is said now, not at first use
        return policy

    def ladder(self, largest: int | None = None) -> Ladder:
        """The ladder, cut at ``largest``, which is then its last bucket. Raises BadInputError where it has no end."""
        made = Ladder(self.sizes) if self.form == "sizes" else self._made(*self._ends(largest))
        return (made if largest is None else made.up_to(largest)).aligned(self.multiple)

    def _made(self, first: int, last: int) -> Ladder:
        if self.form == "pow2":
            return Ladder.powers_of_two(first, last)
        make = Ladder.linear if self.form == "linear" else Ladder.geometric
        return make(first, last, self.number or 0)

    def _ends(self, largest: int | None) -> tuple[int, int]:
        if self.first is not None and self.last is not None:
            return self.first, self.last
        if self.first is None or largest is None:
            raise BadInputError(f"buckets {str(self)!r} have no end here; write one after the dots")
        return min(self.first, largest), largest

    def __str__(self) -> str:
        multiple = f"/{self.multiple}" if self.multiple > 1 else ""
        if self.form == "sizes":
            return ",".join(map(str, self.sizes)) + multiple
        number = f":{self.number}" if self.number is not None else ""
        return f"{self.form}:{self.first}..{self.last or ''}{number}{multiple}"


def default_ladder(
    constraints: Constraints, largest: int, *, setting: str = "", smallest: int = 16, multiple: int = 1
) -> Ladder | None:
    """The ladder of a device for lengths up to ``largest``; None where the device takes any shape.

    ``setting``, what a person wrote, goes before all; then come the device's own buckets, then powers of two from
    ``smallest``. All sizes are made multiples of ``multiple``. Raises BadInputError for a ``setting`` that is no
    ladder, and for a length below 1.
    """
    if not constraints.static_shapes:
        return None
    if setting:
        ladder = BucketPolicy.parse(setting).ladder(largest)
    elif constraints.buckets:
        ladder = Ladder(constraints.buckets).up_to(largest)
    else:
        ladder = Ladder.powers_of_two(min(smallest, largest), largest)
    return ladder.aligned(multiple)


def _parse_rule(body: str, text: str) -> BucketPolicy:
    found = RANGE.fullmatch(body)
    if found is None or found["form"] not in FORMS:
        form = body.partition(":")[0]
        hint = "" if form in FORMS else f"; no form {form!r}{did_you_mean(form, FORMS)}"
        raise BadInputError(f"buckets {text!r}{hint}; {GRAMMAR}")
    if (found["number"] is None) != (found["form"] == "pow2"):
        wanted = {"pow2": "no third number", "linear": "a step", "geometric": "a count"}[found["form"]]
        raise BadInputError(f"buckets {text!r}: {found['form']} takes {wanted}; {GRAMMAR}")
    first, last, number = (int(found[name]) if found[name] else None for name in ("first", "last", "number"))
    if not first or last == 0 or number == 0:
        raise BadInputError(f"buckets {text!r}: the numbers are whole and from 1; {GRAMMAR}")
    return BucketPolicy.model_validate({"form": found["form"], "first": first, "last": last, "number": number})


def _parse_sizes(body: str, text: str) -> BucketPolicy:
    row, dots, last = body.partition("..")
    sizes = row.split(",")
    if not all(map(_is_size, sizes)) or (last and not _is_size(last)):
        raise BadInputError(f"buckets {text!r}; {GRAMMAR}")
    numbers = tuple(map(int, sizes))
    if not dots:
        return BucketPolicy(form="sizes", sizes=numbers)
    return _continued(numbers, int(last) if last else None, text)


def _continued(row: tuple[int, ...], last: int | None, text: str) -> BucketPolicy:
    """The rule of a row that goes on: three sizes show it, two could mean doubling or a step."""
    pairs = [*itertools.pairwise(row)]
    if len(row) >= 3 and all(high == 2 * low for low, high in pairs):
        return BucketPolicy(form="pow2", first=row[0], last=last)
    steps = {high - low for low, high in pairs}
    if len(row) >= 3 and len(steps) == 1 and min(steps) > 0:
        return BucketPolicy(form="linear", first=row[0], last=last, number=steps.pop())
    raise BadInputError(
        f"buckets {text!r}: how it goes on isn't clear; before the dots write at least three sizes, each twice the one "
        f"before or all the same step apart; {GRAMMAR}"
    )


def _is_size(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) > 0
