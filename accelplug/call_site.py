"""Where in the user's code something happens: the innermost frame that is neither torch's nor accelplug's."""

from __future__ import annotations

import functools
import os
import re
import sys
import threading
from collections.abc import Iterator
from types import FrameType

BACKWARD = "_engine_run_backward"  # the function of torch that waits while autograd's threads work
FRAME = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+), in')


def here() -> str:
    """``"train.py:42"`` for the code that runs now, "" where there is none of the user's.

    autograd's threads run no Python of the user's: for them it is the place that waits for backward, and says so.
    """
    if found := _innermost(sys._getframe(1)):
        return found
    waiting = [frame for frame in _other_threads() if any(up.f_code.co_name == BACKWARD for up in _outwards(frame))]
    places = sorted({_innermost(frame) for frame in waiting} - {""})
    return f"{' or '.join(places)} (in backward)" if places else ""


def in_trace(trace: str) -> str:
    """The same of a stack trace as text, outermost frame first, such as Dynamo leaves at the nodes of a graph."""
    for path, line in reversed(FRAME.findall(trace)):
        if _is_users(path):
            return f"{path}:{line}"
    return ""


def _innermost(frame: FrameType) -> str:
    for up in _outwards(frame):
        if _is_users(up.f_code.co_filename):
            return f"{up.f_code.co_filename}:{up.f_lineno}"
    return ""


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _other_threads() -> list[FrameType]:
    own = threading.get_ident()
    return [frame for thread, frame in sys._current_frames().items() if thread != own]


def _is_users(path: str) -> bool:
    return not path.startswith(_not_users())


@functools.cache
def _not_users() -> tuple[str, ...]:
    """What the paths of torch's code begin with, of accelplug's, and of code that both generate or run through."""
    import torch

    folders = [os.path.dirname(os.path.abspath(file)) for file in (torch.__file__, __file__)]
    library = os.path.dirname(os.__file__)
    modules = [os.path.join(library, name) for name in ("contextlib.py", "functools.py", "threading.py")]
    return (*(folder + os.sep for folder in folders), *modules, "<eval_with_key>", "<frozen ")
