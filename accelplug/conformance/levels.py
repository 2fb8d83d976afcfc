"""Levels with names, so that "supports accelplug" says how far: which areas each asks for, and which one is reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accelplug.conformance.records import AreaReport, Outcome, Standing
from accelplug.errors import BadInputError, did_you_mean


@dataclass(frozen=True)
class Level:
    """In none of its ``areas`` is anything wrong, and in each of ``shown`` at least one check has passed.

    So a level is not reached by skipping what it is about. It includes the levels before it.
    """

    name: str
    statement: str
    areas: tuple[str, ...]
    shown: tuple[str, ...]


LEVELS = (
    Level("detects", "it is found and judged, with a reason", ("probe",), ("probe",)),
    Level(
        "computes",
        "PyTorch's operators give the right values on it",
        (
            *("registration", "accelerator", "memory", "rng", "streams", "autograd", "tensors", "saving", "ops"),
            *("kernels", "threads", "processes", "shutdown"),
        ),
        ("registration", "tensors", "ops"),
    ),
    Level("compiles", "torch.compile gives the same", ("decompositions", "compile"), ("compile",)),
    Level(
        "serves",
        "vLLM serves models on it, with the CPU's tokens",
        (
            *("vllm_platform", "vllm_worker", "vllm_attention", "vllm_cache", "vllm_kernels", "vllm_shapes"),
            *("vllm_serving", "vllm_shutdown"),
        ),
        ("vllm_platform", "vllm_worker", "vllm_attention", "vllm_cache", "vllm_serving", "vllm_shutdown"),
    ),
    Level(
        "scales",
        "several devices work together, and so does a model on them",
        ("distributed", "vllm_parallel"),
        ("distributed", "vllm_parallel"),
    ),
)


def names() -> list[str]:
    """Of all levels, the lowest first."""
    return [level.name for level in LEVELS]


def areas_of(name: str) -> tuple[str, ...]:
    """The areas of a level and of those before it. Raises BadInputError with the nearest name."""
    if name not in names():
        raise BadInputError(f"unknown level {name!r}{did_you_mean(name, names())}; known: {', '.join(names())}")
    upto = LEVELS[: names().index(name) + 1]
    return tuple(area for level in upto for area in level.areas)


def standing(areas: Sequence[AreaReport], sample: str) -> Standing:
    """The level that these areas reach. ``sample`` says why they were not examined in full: then none is reached."""
    if sample:
        return Standing(missing=(f"{sample}: a level needs every check",))
    by_name = {area.name: area for area in areas}
    reached = Standing()
    for level in LEVELS:
        missing = tuple(why for name in level.areas if (why := _missing(name, by_name.get(name), level)))
        if missing:
            return reached.model_copy(update={"next": level.name, "missing": missing})
        reached = Standing(level=level.name, statement=level.statement)
    return reached


def _missing(name: str, area: AreaReport | None, level: Level) -> str:
    """What of an area stands between a device and a level; "" where nothing does."""
    if area is None:
        return f"{name}: not examined"
    wrong = sum(check.outcome.wrong for check in area.checks)
    if wrong:
        return f"{name}: {wrong} of {len(area.checks)} checks found something wrong"
    if name in level.shown and not area.counts[Outcome.passed]:
        return f"{name}: nothing was shown ({'; '.join(dict.fromkeys(check.why for check in area.checks))})"
    return ""
