"""What the ledger says of a run: which operators ran on the CPU in the device's place, and what that came to."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from accelplug import files
from accelplug.errors import BadInputError
from accelplug.specs.fallback import StepTransfers, Transfers
from accelplug.specs.kernel import KernelCount
from accelplug.specs.record import Record


class FallbackRow(Record):
    """One operator that fell back, on one device, called by itself or (``compiled``) in compiled graphs.

    calls, bytes, nanoseconds
        As `OpCount` has them; None: unknown.
    device
        The device's index; None where the SDK doesn't say.
    reason
        Why the CPU ran it, as a person should read it.
    site
        Where in the user's code it was first, ``"train.py:42"``; "" where nobody has seen it.
    """

    op: str
    calls: int | None
    bytes: int | None
    nanoseconds: int | None
    device: int | None
    compiled: bool
    reason: str
    site: str = ""


class FallbackReport(Record):
    """What fell back in a process since the counts were last reset.

    ``str()`` is a table, a notebook shows one, `save` writes what ``accelplug report`` reads, and `html` makes a page.

    device, torch_type
        The device's name, and what ``torch.device()`` is given.
    simulated
        The device is simulated: the counts follow its profile, and no hardware has run.
    counted
        Whether the device's SDK counts at all; `notes` says so where it doesn't.
    seconds
        Wall-clock time since the last reset.
    rows
        What fell back, most bytes first, then time, then calls.
    native_calls, native_bytes
        What the device ran itself; None where the SDK doesn't count it.
    kernels
        Those of the device's kernels that ran calls, eagerly; such calls are not among the native ones.
    implementations
        What runs the layers and operators of a framework, each in the order in which it is tried:
        ``{"vllm.ir.rms_norm": ("nki/rms_norm_isa", "native")}``.
    transfers
        Copies between host and device; None where the SDK doesn't count them.
    steps
        The part of `transfers` that a server's steps made; None where there were none, or nothing is counted.
    budgets
        Those in force, as they are written in settings.
    notes
        What a reader must know to read the numbers right.
    """

    schema_version: Literal[1] = 1
    device: str
    torch_type: str
    simulated: bool
    counted: bool
    torch_version: str
    accelplug_version: str
    policy: Literal["allow", "warn", "error"]
    budgets: tuple[str, ...] = ()
    time_measured: bool = False
    process: int
    seconds: float = Field(ge=0)
    rows: tuple[FallbackRow, ...] = ()
    native_calls: int | None = None
    native_bytes: int | None = None
    kernels: tuple[KernelCount, ...] = ()
    implementations: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    transfers: Transfers | None = None
    steps: StepTransfers | None = None
    notes: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        """Calls that fell back, as far as they were counted."""
        return sum(row.calls or 0 for row in self.rows)

    @property
    def bytes(self) -> int:
        """Bytes of what fell back, as far as they were counted."""
        return sum(row.bytes or 0 for row in self.rows)

    @property
    def nanoseconds(self) -> int:
        """Time in what fell back, as far as it was measured."""
        return sum(row.nanoseconds or 0 for row in self.rows)

    @property
    def native_share(self) -> float | None:
        """The share of calls that the device ran itself, 0 to 1; None where nothing, or not all, was counted."""
        if self.native_calls is None or self.native_calls + self.calls == 0:
            return None
        return self.native_calls / (self.native_calls + self.calls)

    def save(self, path: str | Path) -> None:
        """Writes the report as JSON, whole or not at all. Raises BadInputError where the file can't be written."""
        files.write_whole(path, self.model_dump_json(indent=2) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> FallbackReport:
        """The report that `save` has written. Raises BadInputError with the path and what is wrong."""
        text = files.read_text(path)
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise BadInputError(
                f"{path} is not a fallback report of accelplug: {files.complaint(error)}; one is written by "
                "ACCELPLUG_REPORT=run.json, or accelplug.fallback_report().save('run.json')"
            ) from None

    def html(self, path: str | Path | None = None) -> str:
        """The report as a page that needs nothing else, with plots; also written to ``path`` if given.

        Raises AccelplugError where jinja2 or plotly isn't installed, BadInputError where the file can't be written.
        """
        from accelplug.reporting import page

        made = page.made(self)
        if path is not None:
            files.write_whole(path, made)
        return made

    def __str__(self) -> str:
        from accelplug.reporting import text

        return text.table(self)

    def _repr_html_(self) -> str:
        from accelplug.reporting import text

        return text.notebook(self)
