"""Compiling all shapes before the first request: what there is to compile, how long it will take, and doing it."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence

from pydantic import Field, field_validator
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from accelplug.buckets.grid import Grid, Shape
from accelplug.errors import AccelplugError
from accelplug.specs.record import Record

SHOWN = 12  # shapes that a message names at most
QUIET = 10.0  # seconds between lines where there is no terminal to show a bar on


class WarmupError(AccelplugError):
    """A shape of the plan could not be compiled. The cause is the exception that was raised."""


class WarmupPlan(Record):
    """Exactly the shapes that can occur, largest first, so that memory runs out at once or not at all.

    ``seconds_each`` is what one compilation is known to take, None where nobody has measured it.
    """

    axes: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    seconds_each: float | None = Field(None, gt=0)

    @field_validator("shapes")
    @classmethod
    def _largest_first(cls, shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
        return tuple(sorted(set(shapes), key=lambda shape: (-math.prod(shape), tuple(-size for size in shape))))

    @classmethod
    def of_sizes(cls, axis: str, sizes: Iterable[int], seconds_each: float | None = None) -> WarmupPlan:
        """The plan of one axis: the buckets of a ladder, or those that a `Slicer` uses."""
        return cls(axes=(axis,), shapes=tuple((size,) for size in sizes), seconds_each=seconds_each)

    @classmethod
    def of_grid(cls, grid: Grid, seconds_each: float | None = None) -> WarmupPlan:
        """The plan of a grid."""
        return cls(axes=grid.axes, shapes=grid.shapes, seconds_each=seconds_each)

    @property
    def seconds(self) -> float | None:
        """How long all of it will take, None where `seconds_each` isn't known."""
        return None if self.seconds_each is None else self.seconds_each * len(self.shapes)

    def described(self) -> str:
        """What is to be compiled and how long that takes, in one sentence."""
        count = f"{len(self.shapes)} shape{'s' if len(self.shapes) != 1 else ''} to compile ({self.listed()})"
        if self.seconds is None:
            return f"{count}; how long that takes is known after the first"
        return f"{count}; about {duration(self.seconds)}, at {duration(self.seconds_each or 0)} each"

    def listed(self) -> str:
        """The shapes, as text; the first of them where there are many."""
        shown = ", ".join(name(shape) for shape in self.shapes[:SHOWN])
        more = f", and {len(self.shapes) - SHOWN} more" if len(self.shapes) > SHOWN else ""
        return f"{'×'.join(self.axes)}: {shown}{more}"


def run(plan: WarmupPlan, compile_one: Callable[..., object], console: Console | None = None) -> tuple[float, ...]:
    """Calls ``compile_one`` with each shape of the plan, an argument named by each axis; returns the seconds of each.

    Says first what is to be done, then shows a bar, on stderr. The time left is the mean of what the compilations so
    far took, times those that are left. Raises WarmupError, which names the shape, where one fails.
    """
    console = console or Console(file=sys.stderr)
    _say(console, plan.described())
    took: list[float] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("compiling", total=len(plan.shapes), left=_left(plan, took))
        said = time.monotonic()
        for shape in plan.shapes:
            progress.update(task, description=f"compiling {name(shape)}")
            began = time.monotonic()
            _compile(plan, shape, compile_one)
            took.append(time.monotonic() - began)
            progress.update(task, advance=1, left=_left(plan, took))
            if not console.is_terminal and time.monotonic() - said >= QUIET:
                said = time.monotonic()
                _say(console, f"compiled {len(took)} of {len(plan.shapes)}; {_left(plan, took)}")
    _say(console, f"{len(took)} compiled in {duration(sum(took))}")
    return tuple(took)


def name(shape: Sequence[int]) -> str:
    """A shape as people read it: ``64×8``."""
    return "×".join(map(str, shape))


def duration(seconds: float) -> str:
    """``0.4 s``, ``12 s``, ``3 min``, ``1 h 20 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _say(console: Console, text: str) -> None:
    """One line, however long: it may end up in a log."""
    console.print(f"accelplug: {text}", highlight=False, markup=False, soft_wrap=True)


def _compile(plan: WarmupPlan, shape: Shape, compile_one: Callable[..., object]) -> None:
    try:
        compile_one(**dict(zip(plan.axes, shape, strict=True)))
    except Exception as error:
        sizes = ", ".join(f"{axis}={size}" for axis, size in zip(plan.axes, shape, strict=True))
        raise WarmupError(f"warm-up of {sizes} failed: {type(error).__name__}: {error}") from error


def _left(plan: WarmupPlan, took: Sequence[float]) -> str:
    each = sum(took) / len(took) if took else plan.seconds_each
    return "" if each is None else f"{duration(each * (len(plan.shapes) - len(took)))} left"
