"""What happens on standard error while a command works: warnings as they come, or none."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator

from accelplug.notices import log


@contextlib.contextmanager
def warnings_said() -> Iterator[None]:
    """accelplug's warnings go to standard error, one a line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("warning: %(message)s"))
    with _handled(handler):
        yield


@contextlib.contextmanager
def warnings_kept_back() -> Iterator[None]:
    """For a command whose report has all that the warnings would say."""
    with _handled(logging.NullHandler()):
        yield


@contextlib.contextmanager
def _handled(handler: logging.Handler) -> Iterator[None]:
    propagate, log.propagate = log.propagate, False
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = propagate
