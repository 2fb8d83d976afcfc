"""What a benchmark run finds, and what it is kept as: one file, complete or not."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from accelplug import files
from accelplug.errors import BadInputError
from accelplug.specs import RanOn, Record


class ModelSizes(Record):
    """The sizes of a decoder-only model with gated MLPs. ``hidden`` is the width of a token between layers."""

    name: str
    hidden: int = Field(gt=0)
    layers: int = Field(gt=0)
    heads: int = Field(gt=0)
    kv_heads: int = Field(gt=0)
    head_size: int = Field(gt=0)
    intermediate: int = Field(gt=0)
    vocabulary: int = Field(gt=0)


class Roofline(Record):
    """What the device reaches at best, measured: bytes a second read and written by a large copy, floating-point
    operations a second in a large matrix product, and the seconds that a call of the smallest operator takes."""

    bytes_per_second: float = Field(gt=0)
    flops_per_second: float = Field(gt=0)
    call_seconds: float = Field(gt=0)


class Measured(Record):
    """One workload on one device.

    step, name
        Which workload: the step of the model that it belongs to, and what it is in it.
    kind
        An operator, or a whole layer.
    seconds
        Of a call: the median of the rounds; ``least`` and ``greatest`` are the extremes of them.
    first_seconds
        Of the first call, which compiles where the device does.
    per_step
        How many such calls a step of the whole model makes.
    flops, bytes
        What a call has to do at least: floating-point operations, and bytes read and written once each.
    fell_back
        Operators that the CPU ran in the device's place.
    kernels
        Kernels of the backend's that ran.
    error
        Why it could not be run; the times are 0 then.
    """

    step: str
    name: str
    kind: Literal["operator", "layer"] = "operator"
    per_step: int = 0
    flops: int = 0
    bytes: int = 0
    seconds: float = 0.0
    least: float = 0.0
    greatest: float = 0.0
    first_seconds: float = 0.0
    fell_back: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    error: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What it is compared by."""
        return self.step, self.name


class Serving(Record):
    """The model, served: tokens a second over all requests, prompts and answers together, or why not.

    ``by`` is who served it: the name of its entry point and the package, ``vllm (accelplug 0.1.0)``.
    """

    by: str = ""
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    tokens_per_second: float = 0.0
    requests_per_second: float = 0.0
    error: str = ""


class DeviceBench(Record):
    """One device: what it is, its limits, and the workloads as far as they were measured."""

    device: str
    title: str
    simulated: bool
    ran_on: RanOn
    backend: str
    details: dict[str, str] = Field(default_factory=dict)
    roofline: Roofline | None = None
    measured: tuple[Measured, ...] = ()
    serving: Serving | None = None

    def get(self, key: tuple[str, str]) -> Measured | None:
        """The workload of that step and name, None where it wasn't measured."""
        return next((found for found in self.measured if found.key == key), None)


class Setup(Record):
    """What makes two runs comparable: what ran, on what software. A run goes on only under an equal one."""

    model: ModelSizes
    dtype: str
    devices: tuple[str, ...]
    quick: bool
    only: tuple[str, ...] = ()
    accelplug: str
    torch: str
    system: str


class Bench(Record):
    """A run. ``complete``: every workload on every device, and serving if asked for, has been measured or refused."""

    schema_version: Literal[1] = 1
    setup: Setup
    started: str = Field(description="ISO 8601, in UTC.")
    complete: bool = False
    devices: tuple[DeviceBench, ...]

    def __getitem__(self, device: str) -> DeviceBench:
        for found in self.devices:
            if found.device == device:
                return found
        raise KeyError(device)

    @property
    def workloads(self) -> tuple[tuple[str, str], ...]:
        """The step and name of every one that was measured on some device, in order."""
        return tuple(dict.fromkeys(measured.key for device in self.devices for measured in device.measured))

    @classmethod
    def load(cls, file: Path) -> Bench:
        """The run in a file. Raises BadInputError with the path and what is wrong."""
        text = files.read_text(file)
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise BadInputError(f"{file} is not a run of `accelplug bench`: {files.complaint(error)}") from None
