"""Records a program: ``with accelplug.trace("trace.json"):``."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from accelplug.errors import AccelplugError
from accelplug.files import require_folder
from accelplug.tracing import chrome, view
from accelplug.tracing.summary import TraceSummary, summary
from accelplug.tracing.timeline import Timeline, timeline

ON_DEVICES = ("CUDA", "XPU", "MTIA", "HPU", "PrivateUse1")  # activities; torch.profiler takes one of them at a time


class Recording:
    """What `trace` has recorded: there once its block has ended. Raises AccelplugError before that."""

    def __init__(self) -> None:
        self._made: tuple[Timeline, TraceSummary] | None = None

    @property
    def there(self) -> bool:
        """Whether the block has ended and the trace is written."""
        return self._made is not None

    @property
    def timeline(self) -> Timeline:
        """The lanes and their events."""
        return self._ended()[0]

    @property
    def summary(self) -> TraceSummary:
        """The numbers."""
        return self._ended()[1]

    def _ended(self) -> tuple[Timeline, TraceSummary]:
        if self._made is None:
            raise AccelplugError("the trace isn't there before the end of its `with` block")
        return self._made


@contextlib.contextmanager
def trace(
    path: str | Path, *, html: str | Path | None = None, shapes: bool = False, python: bool = False
) -> Iterator[Recording]:
    """Records what runs in this process in the block, on the host and on the device, and writes it to ``path``.

    path
        For Perfetto (ui.perfetto.dev) or chrome://tracing; packed where the name ends in ``.gz``.
    html
        A page that shows it and loads nothing, with what fell back in a colour of its own.
    shapes, python
        Record the shapes of operands, and Python's functions too, which makes the trace larger.

    It is torch.profiler's recording of this thread, and of the device in all threads. The device has lanes where it is
    live when the block begins and its SDK records for torch.profiler, as the simulator does. Also written where the
    block ends in an exception. Raises BadInputError, before the block runs, for a file that can't be written.
    """
    target, page = Path(path), None if html is None else Path(html)
    for name, file in (("path", target), ("html", page)):
        if file is not None:
            require_folder(file, f"{name}={str(file)!r}")
    import torch

    recording = Recording()
    profiler = torch.profiler.profile(activities=_activities(), record_shapes=shapes, with_stack=python)
    profiler.start()
    try:
        yield recording
    finally:
        profiler.stop()
        recording._made = written({f"python {os.getpid()}": _exported(profiler)}, target, page)


def written(
    traces: dict[str, chrome.Trace], path: Path, html: Path | None = None, answer: str | None = None
) -> tuple[Timeline, TraceSummary]:
    """Puts the traces of processes together and writes the trace and, if given, the page. Raises BadInputError."""
    whole = chrome.merged(traces)
    made = timeline(whole)
    numbers = summary(made, [str(file) for file in (path, html) if file is not None], answer)
    chrome.write(path, whole)
    if html is not None:
        view.write(html, made, numbers)
    return made, numbers


def _activities() -> list[Any]:
    """The host, and the device where torch.profiler knows one."""
    from torch.profiler import ProfilerActivity, supported_activities

    supported = supported_activities()
    devices = [getattr(ProfilerActivity, name) for name in ON_DEVICES]
    return [ProfilerActivity.CPU, *[device for device in devices if device in supported][:1]]


def _exported(profiler: Any) -> chrome.Trace:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(file))
        return chrome.read(file)
