"""Timelines: what ran on the host and on the device, when, and what fell back. `docs/tracing.md` is the long form.

`recording` makes one of a program, `server` of a request to a running vLLM; `timeline` is what both give to `view`.
"""

from accelplug.tracing.kinds import Kind
from accelplug.tracing.recording import Recording, trace
from accelplug.tracing.summary import OpTime, TraceSummary
from accelplug.tracing.timeline import Event, Lane, Timeline

__all__ = ["Event", "Kind", "Lane", "OpTime", "Recording", "Timeline", "TraceSummary", "trace"]
