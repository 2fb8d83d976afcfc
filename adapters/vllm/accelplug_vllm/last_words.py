"""Why a server can't go on, from the process that found out to the one that answers requests.

vLLM's engine ends without a reason ("see stack trace above"), with which it also fails the requests that are under way.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
from http import HTTPStatus
from typing import Any

from accelplug_vllm import compat, handoff, request

FILE = "last-words"


def leave(words: str) -> None:
    """Leaves them for the server's process on this machine, if there is one. The first that come are kept."""
    folder = handoff.folder()
    if folder is not None and folder.is_dir():
        try:
            with (folder / FILE).open("x", encoding="utf-8") as file:
                file.write(words)
        except FileExistsError:
            return  # another worker's, of the same end


def left() -> str:
    """What was left; "" where nothing was."""
    folder = handoff.folder()
    if folder is None or not (folder / FILE).exists():
        return ""
    return (folder / FILE).read_text(encoding="utf-8")


@functools.cache
def receive() -> None:
    """In each process of a server: requests that fail as its engine ends get the words.

    They come with HTTP status 503, which clients take as "try again". ``vllm`` on the command line ends with them. See
    compat: "engine.last_words".
    """
    if not compat.works(compat.LAST_WORDS):
        return
    from vllm.exceptions import GracefulHTTPError
    from vllm.v1.engine.exceptions import EngineDeadError

    class EndedError(EngineDeadError, GracefulHTTPError):  # type: ignore[misc]
        def __init__(self, *, suppress_context: bool = False) -> None:
            GracefulHTTPError.__init__(self, left(), HTTPStatus.SERVICE_UNAVAILABLE)
            self.__suppress_context__ = suppress_context

    def make(cls: type, *args: Any, **options: Any) -> Any:
        """Several modules of vLLM's make this error, and several catch it by its class. So the class stays, and only
        what it makes is another."""
        return Exception.__new__(EndedError if cls is EngineDeadError and left() else cls, *args)

    EngineDeadError.__new__ = make
    started_by = handoff.left()
    if started_by and started_by.pid == os.getpid() and request.is_vllm_command():
        atexit.register(_say, os.getpid())


def _say(pid: int) -> None:
    if os.getpid() == pid and (words := left()):
        print(f"accelplug: {words}", file=sys.stderr, flush=True)
