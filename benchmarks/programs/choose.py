"""One library's device detection in a process of its own: how long to import it, to answer first, and to answer again.

`python choose.py LIBRARY [torch] RESULT` writes RESULT, a JSON object of milliseconds; with `torch`, torch is imported
before the clock starts.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path


def accelplug_devices() -> Callable[[], object]:
    import accelplug

    return lambda: accelplug.devices()


def accelplug_auto() -> Callable[[], object]:
    import accelplug

    return lambda: accelplug.auto().torch_device


def torch_accelerator() -> Callable[[], object]:
    import torch

    return lambda: torch.accelerator.current_accelerator(check_available=True)


def deepspeed() -> Callable[[], object]:
    from deepspeed.accelerator import get_accelerator  # type: ignore[import-not-found]

    return lambda: get_accelerator().device_name()


def accelerate() -> Callable[[], object]:
    from accelerate import PartialState  # type: ignore[import-untyped]

    return lambda: PartialState().default_device


LIBRARIES = {f.__name__: f for f in (accelplug_devices, accelplug_auto, torch_accelerator, deepspeed, accelerate)}


def main(library: str, *rest: str) -> None:
    """Measures; ``rest`` ends with the result's file."""
    if "torch" in rest[:-1]:
        import torch  # noqa: F401

    times = [time.perf_counter()]
    answer = LIBRARIES[library]()
    times.append(time.perf_counter())
    for _ in range(2):
        answer()
        times.append(time.perf_counter())
    imported, first, again = ((after - before) * 1e3 for before, after in itertools.pairwise(times))
    Path(rest[-1]).write_text(json.dumps({"import_ms": imported, "first_ms": first, "again_ms": again}))


main(*sys.argv[1:])
