"""Names the bucket of a call on torch.profiler's timeline."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

PREFIX = "accelplug::bucket "


@contextlib.contextmanager
def marked(part: str, bucket: str) -> Iterator[None]:
    """While somebody records, what runs inside is shown as a call of ``part`` in ``bucket``; as in `Usage.hit`."""
    import torch

    if not torch.autograd._profiler_enabled():
        yield
        return
    with torch.profiler.record_function(f"{PREFIX}{part} {bucket}"):
        yield
