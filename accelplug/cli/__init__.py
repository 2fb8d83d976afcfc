"""The command ``accelplug``. Nothing but this function is imported until it runs."""

from __future__ import annotations


def main() -> None:
    """Runs the command line; ends the process with 0 (fine), 1 (not usable, or findings remain) or 2 (bad input)."""
    import sys
    from io import TextIOWrapper

    from accelplug.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal without UTF-8 shows "?" for what it lacks
            stream.reconfigure(errors="replace")
    app()
