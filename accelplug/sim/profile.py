"""What is simulated: a profile, a backend's or a TOML file of one's own. Every field changes what the device does."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator, model_validator

from accelplug.errors import BadInputError, did_you_mean
from accelplug.sim import brought
from accelplug.specs.record import Record

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# What a device can hold at less precision under the same name; csrc/dtypes.cpp does it.
NARROWER = {"int64": "int32", "float64": "float32"}

DTYPES = frozenset(
    (
        *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
        *("float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128"),
        *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    )
)


class Machine(Record):
    """The files that a backend's probe finds. In names and contents ``{n}`` is the device's number; a name that has it
    is made once for each device."""

    files: dict[str, str] = Field(default_factory=dict, description="Path to contents.")
    links: dict[str, str] = Field(default_factory=dict, description="Path of a symbolic link to what it points to.")

    @field_validator("files", "links")
    @classmethod
    def _makeable(cls, entries: dict[str, str]) -> dict[str, str]:
        for name, text in entries.items():
            if not name.startswith("/") or ".." in name.split("/"):
                raise ValueError(f"{name!r} must be a path from / on, without ..")
            try:
                name.format(n=0), text.format(n=0)
            except (KeyError, IndexError, ValueError) as error:
                raise ValueError(f"{name!r} = {text!r}: the only {{}} there may be is {{n}} ({error})") from None
        return entries


class Sdk(Record):
    """The distribution that stands in for the vendor's SDK. Importing its module registers the device.

    ``dynamo_backend`` is the backend of ``torch.compile`` that it brings, "" for none.
    """

    distribution: str
    version: str
    module: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$")]
    dynamo_backend: str = ""


class Faults(Record):
    """What goes wrong, and when. Numbers count from 1; 0, or no file, is never."""

    lost_at_call: int = Field(0, ge=0, description="From this op or copy on, everything raises AcceleratorError.")
    lost_with_file: str = Field(
        "", description="The same, once this file is there. ``{n}`` is the number of the device that it is for."
    )
    out_of_memory_at_allocation: int = Field(0, ge=0, description="This allocation raises OutOfMemoryError.")
    probe_seconds: float = Field(0, ge=0, description="Seconds that the probe takes longer; many: it hangs.")
    wrong_answer_in: tuple[str, ...] = Field((), description="Patterns of ops whose first result element is 1 off.")

    @field_validator("lost_with_file")
    @classmethod
    def _a_path(cls, name: str) -> str:
        try:
            name.format(n=0)
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError(f"the only {{}} in it may be {{n}}, the device's number ({error})") from None
        return name


class Profile(Record):
    """One simulated accelerator.

    name
        The name of the device. Where a backend has it, that backend's probe and load run on the simulation; otherwise
        the profile is a backend of its own.
    torch_type
        What ``torch.device()`` is given; ``name`` where it is left out.
    devices
        How many there are in the machine. A backend may count otherwise: a Trainium2 device is four logical cores.
    memory_bytes
        Of each device that PyTorch counts; 0 is no limit.
    alignment_bytes
        Each allocation takes a multiple of it.
    dtypes, casts, warn_of_casts
        What the device holds (empty: everything), and what it holds at less precision under the same name, with a
        warning once or silently. Anything else raises TypeError.
    static_shapes
        The SDK's compiler refuses symbolic shapes.
    exclusive
        A device can be used by one process at a time, from its first tensor there to its end.
    native, not_native
        Patterns ("aten::mm*") of the ops that the vendor runs on the device, less those of ``not_native``. All others
        count as fallback.
    launch_us, transfer_bytes_per_second
        What an op costs more than on the CPU, and the speed between host and device; 0 costs nothing.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    title: str
    torch_type: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    devices: int = Field(1, ge=1, le=64)
    memory_bytes: int = Field(0, ge=0)
    alignment_bytes: int = Field(1, ge=1)
    dtypes: tuple[str, ...] = ()
    casts: dict[str, str] = Field(default_factory=dict)
    warn_of_casts: bool = True
    static_shapes: bool = False
    exclusive: bool = False
    native: tuple[str, ...] = ("*",)
    not_native: tuple[str, ...] = ()
    launch_us: float = Field(0, ge=0)
    transfer_bytes_per_second: float = Field(0, ge=0)
    machine: Machine = Field(default_factory=Machine)
    sdk: Sdk | None = None
    faults: Faults = Field(default_factory=Faults)

    @model_validator(mode="before")
    @classmethod
    def _named_after_itself(cls, values: Any) -> Any:
        if isinstance(values, dict) and isinstance(values.get("name"), str):
            return {"torch_type": values["name"], "title": f"{values['name']} (simulated)", **values}
        return values

    @field_validator("dtypes")
    @classmethod
    def _known_dtypes(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in DTYPES:
                raise ValueError(f"unknown dtype {name!r}{did_you_mean(name, DTYPES)}")
        return names

    @field_validator("casts")
    @classmethod
    def _known_casts(cls, casts: dict[str, str]) -> dict[str, str]:
        for wide, narrow in casts.items():
            if NARROWER.get(wide) != narrow:
                known = ", ".join(f"{a} = {b}" for a, b in NARROWER.items())
                raise ValueError(f"{wide} = {narrow!r} is not simulated; known: {known}")
        return casts

    def holds(self, dtype: str) -> bool:
        """Whether tensors of this dtype can be on the device."""
        return not self.dtypes or dtype in self.dtypes or dtype in self.casts


def find(simulate: str) -> Profile:
    """The profile that ``ACCELPLUG_SIMULATE`` names: that of an installed backend, or the path of a TOML file.

    Raises BadInputError with the nearest name, or the file and what is wrong in it.
    """
    path = _path(simulate)
    found = _read(path, path.stat().st_mtime_ns)
    if not _is_path(simulate) and found.name != simulate:
        raise BadInputError(f"{path}: name = {found.name!r}, but the backend that brings it is {simulate!r}")
    return found


def _path(simulate: str) -> Path:
    if _is_path(simulate):
        path = Path(simulate)
        if not path.is_file():
            raise BadInputError(f"there is no profile {simulate!r}: it is not a file; correct the path")
        return path
    known = brought.profiles()
    if simulate not in known:
        raise BadInputError(
            f"there is no profile {simulate!r}{did_you_mean(simulate, known)}; known: {', '.join(known)} (the backends "
            f"whose package has a {brought.FILE}), or the path of a .toml file"
        )
    return known[simulate]


def _is_path(simulate: str) -> bool:
    return simulate.endswith(".toml") or "/" in simulate


@functools.lru_cache(maxsize=16)
def _read(path: Path, changed: int) -> Profile:
    """``changed`` is the file's time, so that an edited file is read again."""
    try:
        return Profile(**_with_base(path))
    except ValidationError as error:
        raise BadInputError("\n".join(_complaint(path, problem) for problem in error.errors())) from None


def _with_base(path: Path, over: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The file's values over those of the profile that its key ``base`` names, a backend's.

    ``over`` are the files that start from this one.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInputError(f"{path}: {error}") from None
    base = values.pop("base", None)
    if base is None:
        return values
    known = brought.profiles()
    if base not in known:
        hint = did_you_mean(str(base), known)
        raise BadInputError(f"{path}: base = {base!r} is no backend's profile{hint}; known: {', '.join(known)}")
    if known[base] in (path, *over):
        raise BadInputError(f"{path}: base = {base!r} ends in this file again; start from another profile")
    return {**_with_base(known[base], (path, *over)), **values}


def _complaint(path: Path, problem: Mapping[str, Any]) -> str:
    place = ".".join(map(str, problem["loc"]))
    if problem["type"] == "extra_forbidden":
        hint = did_you_mean(place, [*Profile.model_fields, "base"])
        return f"{path}: unknown key {place!r}{hint}; allowed: {', '.join([*Profile.model_fields, 'base'])}"
    if problem["type"] == "missing":
        return f"{path}: {place} is missing"
    return f"{path}: {place} = {problem['input']!r}: {problem['msg']}"
