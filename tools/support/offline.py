"""Runs features of the catalogue on the device that is chosen by the environment, each start in turn, in one process.

Arguments: the file to write, and names of starts. A line of JSON for each feature: its name and what came of it.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from accelplug_vllm.tiny.models import checkpoint

from accelplug.errors import AccelplugError
from tools.support.catalogue import SMALL, STARTS, Feature, Start


def main(file: str, *names: str) -> None:
    with open(file, "w") as stream:
        for name in names:
            for feature, came in run(STARTS[name]):
                # Line by line, so that a crash leaves what came before it.
                print(json.dumps({"feature": feature, **came}), file=stream, flush=True)


def run(start: Start) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of each feature of a start what came of it: ``output``, or why it was ``refused`` or ``failed``."""
    from vllm import LLM

    try:
        llm = LLM(str(checkpoint(start.model)), **{**SMALL, **start.options})
    except (AccelplugError, ValueError) as error:  # vLLM's own refusals are ValueErrors
        yield from ((feature.name, {"refused": _said(error)}) for feature in start.features)
        return
    except Exception as error:
        traceback.print_exc()
        yield from ((feature.name, {"failed": _said(error)}) for feature in start.features)
        return
    with _closing(llm):
        for feature in start.features:
            yield feature.name, _tried(feature, llm)


def _tried(feature: Feature, llm: Any) -> dict[str, Any]:
    try:
        return {"output": feature.run(llm)}
    except Exception as error:
        traceback.print_exc()
        return {"failed": _said(error)}


@contextmanager
def _closing(llm: Any) -> Iterator[None]:
    """vLLM has no way to close an ``LLM``; its memory comes back when nothing refers to it."""
    try:
        yield
    finally:
        llm.llm_engine.engine_core.shutdown()
        gc.collect()


def _said(error: Exception) -> str:
    """The message of an error; of pydantic's, what went wrong without where."""
    if hasattr(error, "errors"):
        return "; ".join(str(one["msg"]).removeprefix("Value error, ") for one in error.errors())
    return str(error) if isinstance(error, AccelplugError) else f"{type(error).__name__}: {error}".splitlines()[0]


if __name__ == "__main__":
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    main(*sys.argv[1:])
