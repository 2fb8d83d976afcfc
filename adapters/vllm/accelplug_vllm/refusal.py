"""The platform of a refusal: getting it stops vLLM with the reason instead of letting it go on with the CPU."""

from __future__ import annotations

import sys
from typing import NoReturn

from accelplug.errors import AccelplugError
from accelplug_vllm import request, resolution


def __getattr__(name: str) -> object:
    if name != "Refused":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    stop(resolution.refused())


def stop(error: AccelplugError) -> NoReturn:
    """Raises the error; where this is vLLM's command line, ends the process with the message alone."""
    if request.is_vllm_command():
        # A person's command line deserves the message, not forty lines of import machinery.
        print(f"accelplug: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code)
    raise error
