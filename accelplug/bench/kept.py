"""The run as it is kept in a file while it grows, so that it can be gone on with after an end of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from accelplug.bench.records import Bench, DeviceBench, Measured, Setup
from accelplug.errors import BadInputError
from accelplug.files import write_whole
from accelplug.specs import Candidate


class Kept:
    """The run in ``file``. Every change is written at once, whole or not at all."""

    def __init__(self, file: Path, setup: Setup, candidates: Sequence[Candidate], fresh: bool) -> None:
        """Takes up the run in the file, unless ``fresh``. Raises BadInputError where that is of something else."""
        self._file = file
        if file.exists() and not fresh:
            self.bench = Bench.load(file)
            self._require(setup)
            return
        self.bench = Bench(
            setup=setup,
            started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            devices=tuple(_begun(candidate) for candidate in candidates),
        )
        self._write()

    def change(self, device: str, **fields: Any) -> None:
        """Sets fields of a device."""
        changed = [each.model_copy(update=fields) if each.device == device else each for each in self.bench.devices]
        self.bench = self.bench.model_copy(update={"devices": tuple(changed)})
        self._write()

    def add(self, device: str, measured: Measured) -> None:
        """Adds a workload of a device."""
        self.change(device, measured=(*self.bench[device].measured, measured))

    def end(self) -> None:
        """Says that the run is complete."""
        self.bench = self.bench.model_copy(update={"complete": True})
        self._write()

    def _write(self) -> None:
        write_whole(self._file, self.bench.model_dump_json(indent=1) + "\n")

    def _require(self, setup: Setup) -> None:
        different = [name for name in Setup.model_fields if getattr(setup, name) != getattr(self.bench.setup, name)]
        if different:
            name = different[0]
            raise BadInputError(
                f"{self._file} has a run with another {name} ({_short(getattr(self.bench.setup, name))}, and not "
                f"{_short(getattr(setup, name))}); name another file with --output, or begin anew with --fresh"
            )


def _begun(candidate: Candidate) -> DeviceBench:
    return DeviceBench(
        device=candidate.name,
        title=candidate.title,
        simulated=candidate.simulated,
        ran_on=candidate.ran_on,
        backend=candidate.distribution,
        details=candidate.details,
    )


def _short(value: object) -> str:
    return str(getattr(value, "name", value) or "none")
