"""What is stored in results.json: each run's raw numbers, with the machine and the versions they were measured on."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Frozen, and strict about names: an old results.json that no longer fits is said, not misread."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Run(Record):
    """One process (or server) measured: ``values`` by metric, ``outputs`` a digest of each prompt's tokens."""

    variant: str
    round: int
    values: dict[str, float]
    outputs: tuple[str, ...] = ()


class Machine(Record):
    """What the suite ran on. ``load`` is the one-minute load average just before it began; quiet is near 0."""

    cpu: str
    cores: int
    memory_gib: float
    system: str
    load: float


class Result(Record):
    """One suite's last run."""

    finished: str
    rounds: int
    machine: Machine
    versions: dict[str, str]
    runs: tuple[Run, ...]


class Results(Record):
    """results.json: the last run of each suite, by the suite's name."""

    suites: dict[str, Result] = {}


def load(file: Path) -> Results:
    """The stored results; none where the file isn't there yet."""
    return Results.model_validate_json(file.read_text()) if file.exists() else Results()


def store(file: Path, name: str, result: Result) -> Results:
    """Replaces one suite's result, leaves the others, and returns them all."""
    results = Results(suites=load(file).suites | {name: result})
    file.write_text(results.model_dump_json(indent=1) + "\n")
    return results
