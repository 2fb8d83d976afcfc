"""Runs Python blocks of pages, each program in a process of its own that is forked from this one.

A program is a line of JSON on standard input: ``{"folder": …, "environment": …, "blocks": [{"place": …, "before": …,
"text": …}]}``; for each, a line comes back: ``{"code": …, "output": …}``. What is slow to import is imported before.

A block of ``>>>`` lines has to print what it shows, where ``…`` stands for anything. What the page marks with
``@hookimpl`` has to be what pluggy and the hook's own signature take.
"""

from __future__ import annotations

import ast
import doctest
import io
import json
import os
import re
import sys
import tempfile
import traceback
from contextlib import redirect_stdout
from typing import Any, get_type_hints

import pluggy
import torch._inductor.compile_fx  # noqa: F401  slow to import, and most programs want it
from pydantic import ConfigDict, TypeAdapter

from accelplug import hookspecs
from accelplug.specs import Probe, Verdict

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def main() -> None:
    for line in sys.stdin:
        program = json.loads(line)
        with tempfile.TemporaryFile("w+") as output:
            child = os.fork()
            if child == 0:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                os._exit(ended(program))
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            output.seek(0)
            print(json.dumps({"code": code, "output": output.read()}), flush=True)


def ended(program: dict[str, Any]) -> int:
    """Runs a program to its end, exit functions left out, and returns its exit status."""
    os.chdir(program["folder"])
    os.environ.update(program["environment"])
    names: dict[str, Any] = {"__name__": "page"}
    try:
        for block in program["blocks"]:
            place, text = block["place"], block["text"]
            run(block["before"], f"{place} (before)", names)
            (run_session if text.lstrip().startswith(">>>") else run)(text, place, names)
        check_hooks(names)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def run(text: str, place: str, names: dict[str, Any]) -> None:
    exec(compile(ast.parse(text, place), place, "exec", dont_inherit=True), names)


def run_session(text: str, place: str, names: dict[str, Any]) -> None:
    """Runs a session as if it were typed. Raises AssertionError where something else is printed than it shows."""
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
            raise AssertionError(f"{place}:\n{example.source}shows\n{wanted}but it is\n{printed.getvalue()}")


def check_hooks(names: dict[str, Any]) -> None:
    """Every hook of the page has the hook's arguments, and returns what the hook says."""
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
