"""What the adapter depends on in vLLM and torch, as records."""

from __future__ import annotations

from dataclasses import dataclass

from accelplug_vllm.compat.source import Source


@dataclass(frozen=True)
class Seam:
    """One name of vLLM's or torch's that the adapter uses.

    ``names`` are what it is called, as `Source.find` takes it: where versions differ, any of them will do. ``takes``
    are parameters that it must have, and ``says`` is text that its source must have: behaviour that is counted on.
    """

    names: tuple[str, ...]
    takes: tuple[str, ...] = ()
    says: str = ""

    @property
    def name(self) -> str:
        """The newest name, and the text where it is that which counts."""
        return self.names[0] + (f" {self.says!r}" if self.says else "")

    def missing(self, source: Source) -> str:
        """What isn't there, "" where all is."""
        found = next(filter(None, map(source.find, self.names)), None)
        if found is None:
            return f"there is no {' or '.join(self.names)}"
        lacks = [name for name in self.takes if name not in found.parameters and "**" not in found.parameters]
        if lacks:
            return f"{self.names[0]} takes no {', '.join(lacks)}"
        return "" if self.says in found.text else f"{self.names[0]} no longer says {self.says!r}"


@dataclass(frozen=True)
class Part:
    """A part of the adapter that works where all of its seams are there.

    ``without`` says what people get where it doesn't.
    """

    name: str
    without: str
    seams: tuple[Seam, ...]

    def missing(self, source: Source) -> str:
        """The first thing that isn't there, "" where all is."""
        return next(filter(None, (seam.missing(source) for seam in self.seams)), "")


def seam(name: str, *takes: str, says: str = "", before: str = "") -> Seam:
    """``before`` is what older versions call it."""
    return Seam((name, before) if before else (name,), takes, says)


def of(owner: str, *names: str) -> tuple[Seam, ...]:
    """Names of one module (``"vllm.config"``) or class (``"vllm.config:VllmConfig"``)."""
    joint = "." if ":" in owner else ":"
    return tuple(Seam((f"{owner}{joint}{name}",)) for name in names)
