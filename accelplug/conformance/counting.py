"""Which operators the device ran, and which the CPU ran in its place, as the SDK counts them."""

from __future__ import annotations

from collections.abc import Callable

from accelplug.conformance.subject import Subject
from accelplug.plugins import ask
from accelplug.specs import FallbackSource

Fallbacks = Callable[[], "list[str] | None"]


def source(subject: Subject) -> FallbackSource | None:
    """Who counts: the simulation where there is one, else the backend's hook; None where nobody does."""
    stand_in = subject.spec.stand_in
    if stand_in is not None and stand_in.fallbacks is not None:
        return stand_in.fallbacks
    return ask(subject.backend, "accelplug_fallbacks", FallbackSource)


def start(counts: FallbackSource | None) -> Fallbacks:
    """Counts anew; the result returns the operators that have fallen back since, None where nobody counts."""
    if counts is None:
        return lambda: None
    counts.reset()
    return lambda: sorted(count.op for count in counts.read() if not count.native)
