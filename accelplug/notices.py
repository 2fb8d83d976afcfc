"""What is said to people in passing: through logging, each sentence once per process."""

from __future__ import annotations

import functools
import logging

log = logging.getLogger("accelplug")


@functools.cache
def warn_once(sentence: str) -> None:
    """Logs a warning, unless this process has already said the same."""
    log.warning(sentence)
