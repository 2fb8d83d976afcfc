"""After warm-up: a shape that would have to be compiled in service is an error, or a counted warning."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Literal

from accelplug.buckets.usage import Usage
from accelplug.buckets.warmup import WarmupPlan
from accelplug.errors import AccelplugError, BadInputError, ShapeRefusedError
from accelplug.notices import log

Mode = Literal["error", "warn"]
MODES = ("error", "warn")
STANCE = "fail_on_recompile"  # torch names it in the RuntimeError that this stance raises
REASON = re.compile(r"^\s*- \d+/\d+: (.*?)\s*$", re.MULTILINE)

_running: ContextVar[str] = ContextVar("accelplug_running", default="a graph")


@contextlib.contextmanager
def running(plan: WarmupPlan, **sizes: int) -> Iterator[None]:
    """Around one call of a compiled model: what the guard calls it, by the sizes of its axes.

    Raises ShapeRefusedError where the guard forbids the compilation that the call needs.
    """
    what = ", ".join(f"{axis}={size}" for axis, size in sizes.items())
    token = _running.set(what)
    try:
        yield
    except RuntimeError as error:
        if STANCE not in str(error):
            raise
        if tuple(sizes.get(axis) for axis in plan.axes) in plan.shapes:
            why = "though its shape was warmed up: something else that its graph depends on has changed"
        else:
            why = f"as nobody has warmed it up; there are {plan.listed()}"
        raise ShapeRefusedError(f"{what} would have to be compiled in service, {why}. {_reasons(error)}") from error
    finally:
        _running.reset(token)


class NoMoreCompiles:
    """A context in which torch compiles nothing anew, in any thread; or says so each time, and counts.

    ``compiles`` is how many it has counted. `start` and `stop` are for code that can't be indented. ``mode`` and
    ``usage`` are as `no_more_compiles` has them. Raises BadInputError for another mode.
    """

    def __init__(self, mode: Mode, usage: Usage | None = None) -> None:
        if mode not in MODES:
            raise BadInputError(f"no_more_compiles({mode!r}); the modes are: {', '.join(MODES)}")
        self.mode = mode
        self.compiles = 0
        self._usage = usage
        self._active: contextlib.ExitStack | None = None

    def start(self) -> None:
        """From now on. Imports Dynamo. Raises AccelplugError where it has been started already."""
        if self._active is not None:
            raise AccelplugError("no_more_compiles is in force already; stop it before it is started again")
        import torch

        with contextlib.ExitStack() as stack:
            if self.mode == "error":
                stack.enter_context(torch.compiler.set_stance(STANCE))
            else:
                stack.enter_context(compilations(self._compiling))
            self._active = stack.pop_all()

    def stop(self) -> None:
        """torch compiles again. Nothing happens where it was not started."""
        if self._active is not None:
            self._active.close()
            self._active = None

    def __enter__(self) -> NoMoreCompiles:
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()

    def _compiling(self, _arguments: Any) -> None:
        self.compiles += 1
        if self._usage is not None:
            self._usage.compiled(in_service=True)
        log.warning(
            "compiling in service, for %s, which was not warmed up so (compilation %d)", _running.get(), self.compiles
        )


def no_more_compiles(mode: Mode = "error", usage: Usage | None = None) -> NoMoreCompiles:
    """For after warm-up: ``with no_more_compiles(): serve()``.

    mode
        ``error``: a call that needs a compilation raises; inside `running` a ShapeRefusedError, which names the shape
        and those that are compiled, elsewhere torch's RuntimeError. ``warn``: it is compiled, logged and counted.
    usage
        Where ``warn`` counts, besides ``compiles`` of the returned context.

    Raises BadInputError for another mode.
    """
    return NoMoreCompiles(mode, usage)


def _reasons(error: RuntimeError) -> str:
    """torch's reasons, each once: it gives them anew for every graph there is of the function."""
    reasons = dict.fromkeys(REASON.findall(str(error)))
    return f"torch says: {'; '.join(reasons)}" if reasons else "torch says: no graph of this function yet"


@contextlib.contextmanager
def compilations(tell: Callable[[Any], None]) -> Iterator[None]:
    """``tell`` is called whenever Dynamo starts to compile, in the thread that compiles."""
    from torch._dynamo.callback import callback_handler

    callback_handler.register_start_callback(tell)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # torch._dynamo.reset() forgets all callbacks
            callback_handler.remove_start_callback(tell)
