"""Runs Python blocks of one page in order, in this process: ``run_blocks.py < blocks.json``.

Each is ``{"place": …, "before": …, "text": …}``. A block of ``>>>`` lines has to print what it shows, where ``…`` stands
for anything. What the page marks with ``@hookimpl`` has to be what pluggy and the hook's own signature take.
"""

from __future__ import annotations

import ast
import doctest
import io
import json
import re
import sys
import traceback
from contextlib import redirect_stdout
from typing import Any, get_type_hints

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def main() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    for block in json.load(sys.stdin):
        place, before, text = block["place"], block["before"], block["text"]
        run(before, f"{place} (before)", names)
        if text.lstrip().startswith(">>>"):
            run_session(text, place, names)
        else:
            run(text, place, names)
    check_hooks(names)


def run(text: str, place: str, names: dict[str, Any]) -> None:
    exec(compile(ast.parse(text, place), place, "exec", dont_inherit=True), names)


def run_session(text: str, place: str, names: dict[str, Any]) -> None:
    """Runs a session as if it were typed, and ends the process where something else is printed than it shows."""
    shown = re.sub(r"^(?!>>> |\.\.\. )(.*)$", lambda line: line[1].replace("…", "..."), text, flags=re.MULTILINE)
    shown = re.sub(r"\n\n(?=[^\n>])", "\n<BLANKLINE>\n", shown)
    checker = doctest.OutputChecker()
    for example in doctest.DocTestParser().get_examples(shown + "\n", place):
        printed = io.StringIO()
        wanted = example.exc_msg or example.want
        try:
            with redirect_stdout(printed):
                exec(compile(example.source, "<stdin>", "single", dont_inherit=True), names)
        except Exception as error:
            if example.exc_msg is None:
                raise
            printed.write("".join(traceback.format_exception_only(error)).rpartition(f"{type(error).__module__}.")[2])
        if not checker.check_output(wanted, printed.getvalue(), FLAGS):
            sys.exit(f"{place}:\n{example.source}shows\n{wanted}but it is\n{printed.getvalue()}")


def check_hooks(names: dict[str, Any]) -> None:
    """Every hook of the page has the hook's arguments, and returns what the hook says."""
    import pluggy
    from pydantic import ConfigDict, TypeAdapter

    from accelplug import hookspecs
    from accelplug.specs import Probe, Verdict

    backend = type("Backend", (), {name: staticmethod(value) for name, value in names.items() if callable(value)})
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(backend, name="page")
    manager.check_pending()
    given = {"probe": Probe(verdict=Verdict.usable, reason="here", count=1), "attn_type": "decoder", "config": None}
    for caller in manager.get_hookcallers(backend) or ():
        hints = get_type_hints(getattr(hookspecs, caller.name))
        result = caller(**{argument: given[argument] for argument in caller.spec.argnames})[0]
        returned = hints["return"]
        has_config = isinstance(returned, type) and hasattr(returned, "model_config")
        config = None if has_config else ConfigDict(arbitrary_types_allowed=True)
        TypeAdapter(returned, config=config).validate_python(result, strict=True)


if __name__ == "__main__":
    main()
