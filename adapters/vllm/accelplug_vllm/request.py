"""Which device vLLM's command line asks for. It is read ahead of vLLM, which picks its platform before it parses."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from accelplug import settings
from accelplug.errors import BadInputError
from accelplug.selection import AUTO

FLAG = "--device"
VARIABLE = settings.variable("device")


def from_command_line(argv: Sequence[str] | None = None) -> str | None:
    """The value of ``--device`` if this process is vLLM's command line, else None (another program's flag isn't ours).

    Raises BadInputError where the flag and the variable name different devices.
    """
    arguments = _vllm_arguments(sys.orig_argv if argv is None else argv)
    if arguments is None:
        return None
    flag = _value(arguments)
    refuse_disagreement(flag)
    return flag


def refuse_disagreement(flag: str | None) -> None:
    """Raises BadInputError where the flag and the variable name different devices; "auto" agrees with anything."""
    variable = os.environ.get(VARIABLE)
    if flag not in (None, AUTO) and variable not in (None, "", AUTO, flag):
        raise BadInputError(f"{FLAG} {flag} and {VARIABLE}={variable} ask for different devices; give one of them")


def is_vllm_command() -> bool:
    """Whether this process was started as ``vllm …`` or ``python -m vllm.…``."""
    return _vllm_arguments(sys.orig_argv) is not None


def _vllm_arguments(argv: Sequence[str]) -> Sequence[str] | None:
    """What follows ``vllm`` or ``python -m vllm.…`` on the command line; None for other programs."""
    for position, word in enumerate(argv[1:], start=1):
        if word == "-m":
            module = argv[position + 1] if position + 1 < len(argv) else ""
            return argv[position + 2 :] if module.split(".")[0] == "vllm" else None
        if not word.startswith("-"):
            return argv[position + 1 :] if Path(word).name == "vllm" else None
    return None


def _value(arguments: Sequence[str]) -> str | None:
    """The last ``--device X`` or ``--device=X``, as argparse would take it."""
    found = None
    for position, word in enumerate(arguments):
        if word == "--":
            break
        if word == FLAG and position + 1 < len(arguments):
            found = arguments[position + 1]
        elif word.startswith(FLAG + "="):
            found = word.removeprefix(FLAG + "=")
    return found
