"""Every setting: the ACCELPLUG_* variables and accelplug.toml, in one validated model.

A variable wins over the file, and the file over the default; an empty variable counts as unset. The file is
``$ACCELPLUG_CONFIG``, else ``accelplug.toml`` in the working directory, else in the user's configuration folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import platformdirs
from pydantic import Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from accelplug import budgets
from accelplug.errors import BadInputError, did_you_mean, nearest
from accelplug.notices import warn_once

if TYPE_CHECKING:
    from accelplug.sim.profile import Profile

PREFIX = "ACCELPLUG_"
FILE = "accelplug.toml"
FILE_VARIABLE = PREFIX + "CONFIG"


class Settings(BaseSettings):
    """What a person can set. ``accelplug explain`` shows the values in force and where each came from."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    device: str = Field(
        "auto",
        description="The device to use: `auto`, a name, or names in order of preference (`neuron,cuda`). "
        "Names other than `auto` never end on a device that isn't named.",
    )
    backends: str = Field(
        "",
        description="Allow-list of backends, separated by commas. What isn't on it is never imported. Empty: all.",
    )
    cpu_fallback: Literal["allow", "error"] = Field(
        "allow", description="Whether `auto` may end on the CPU. `error`: it raises instead."
    )
    probe_timeout: float = Field(
        2.0, gt=0, le=3600, description="Seconds that one backend's probe may take before its verdict is `timeout`."
    )
    simulate: str = Field(
        "",
        description="A simulated accelerator instead of a real one: a backend that brings a profile (`neuron`, "
        "`spyre`, a vendor's own), or the path of a TOML profile. `auto` then takes it. Empty: none.",
    )
    kernels: str = Field(
        "",
        description="Which kernels may run: `off`, names that alone may (`nki,spyre/mm`), or names with a `-` that may "
        "not (`-nki/mm_tiled`). A name is a provider, or one of its kernels. Empty: all.",
    )
    fallback: Literal["allow", "warn", "error"] = Field(
        "allow",
        description="What happens where an operator falls back from the device to the CPU. `warn`: it is said, once "
        "and then at 10 calls, 100, and so on. `error`: it raises.",
    )
    fallback_budget: str = Field(
        "",
        description="How much may fall back before it raises: `calls=100,bytes=1MiB`, and for some operators "
        "`aten::fill_*:calls=0`. Empty: no limit.",
    )
    fallback_time: Literal["on", "off"] = Field(
        "off", description="Whether each operator's time is measured, which costs some 30 ns a call."
    )
    report: str = Field(
        "",
        description="The file to write the fallback report to when the process ends, as JSON; `{pid}` in it is the "
        "process. `accelplug report` shows it. Empty: none.",
    )
    cpu_defaults: Literal["on", "off"] = Field(
        "on",
        description="vLLM on the CPU: accelplug's faster defaults (one process less, threads bound before start). "
        "`off`: exactly what vLLM does in tree.",
    )
    vllm_platform: Literal["auto", "vendor", "accelplug"] = Field(
        "auto",
        description="Whose platform runs vLLM on a device whose vendor has a vLLM plug-in. `auto`: the vendor's, where "
        "it is installed and claims the platform. `vendor`: the same, and an error where it isn't or doesn't. "
        "`accelplug`: accelplug's.",
    )
    selection: str = Field(
        "",
        description="Set by accelplug for the processes that a server starts, so that all agree on the device. "
        "Not for people.",
    )
    placement: str = Field(
        "",
        description="Set by accelplug for each of several workers: its ranks and its device. Not for people.",
    )

    @field_validator("device", "backends")
    @classmethod
    def _names_once(cls, value: str) -> str:
        names = split_names(value)
        if value and not names:
            raise ValueError("it names nothing")
        if len(names) != len(set(names)):
            raise ValueError("a name is given twice")
        return ",".join(names)

    @field_validator("kernels")
    @classmethod
    def _names_of_kernels(cls, value: str) -> str:
        names = split_names(value)
        for name in names:
            if not re.fullmatch(r"-?[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)?", name):
                raise ValueError(f"{name!r} is not `off`, `provider`, `provider/kernel`, or one of those with a `-`")
        if {"off", "-off"} & {*names} and value != "off":
            raise ValueError("`off` stands alone")
        return ",".join(names)

    @field_validator("fallback_budget")
    @classmethod
    def _budgets(cls, value: str) -> str:
        try:
            budgets.parse(value)
        except BadInputError as error:
            raise ValueError(str(error)) from None
        return value

    @field_validator("report")
    @classmethod
    def _a_file_that_can_be_named(cls, value: str) -> str:
        try:
            value.format(pid=1)
        except (KeyError, IndexError, ValueError):
            raise ValueError("the only {} there may be is {pid}") from None
        return value

    @field_validator("simulate")
    @classmethod
    def _a_profile_that_is_there(cls, value: str) -> str:
        if value:
            _profile(value)
        return value

    @property
    def profile(self) -> Profile | None:
        """The profile that ``simulate`` names, None where nothing is to be simulated."""
        return _profile(self.simulate) if self.simulate else None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what `read` passes in: it merges them itself, from any environment, to know each value's source."""
        return (init_settings,)


class Sourced:
    """Settings and where each value that isn't the default came from."""

    def __init__(self, values: Settings, sources: Mapping[str, str]) -> None:
        self.values = values
        self.sources = dict(sources)

    def described(self) -> dict[str, str]:
        """``{"device": "neuron (ACCELPLUG_DEVICE)", …}`` for what isn't the default."""
        return {name: f"{getattr(self.values, name)} ({origin})" for name, origin in self.sources.items()}


def _profile(simulate: str) -> Profile:
    from accelplug.sim import profile  # only where something is simulated

    try:
        return profile.find(simulate)
    except BadInputError as error:
        raise ValueError(str(error)) from None


def split_names(text: str) -> list[str]:
    """``"a, b"`` as ``["a", "b"]``."""
    return [part.strip() for part in text.split(",") if part.strip()]


def read(environ: Mapping[str, str] = os.environ) -> Sourced:
    """Reads and validates the settings; raises BadInputError with the place, the value and the allowed ones."""
    path = _file(environ)
    from_file = _read_file(path) if path else {}
    from_variables = {name: text for name in Settings.model_fields if (text := environ.get(variable(name)))}
    sources = dict.fromkeys(from_file, str(path)) | {name: variable(name) for name in from_variables}
    try:
        values = Settings(**{**from_file, **from_variables})
    except ValidationError as error:
        raise BadInputError(_complaints(error, sources)) from None
    return Sourced(values, sources)


def variable(name: str) -> str:
    """The variable that sets ``name``: ``device`` is ``ACCELPLUG_DEVICE``."""
    return PREFIX + name.upper()


def misspelt(environ: Mapping[str, str] = os.environ) -> list[str]:
    """One sentence for each ACCELPLUG_* variable that accelplug does not know, with the nearest name."""
    known = [*Settings.model_fields, FILE_VARIABLE.removeprefix(PREFIX).lower()]
    sentences = []
    for name in sorted(environ):
        suffix = name.removeprefix(PREFIX)
        if suffix == name or suffix.lower() in known:
            continue
        near = nearest(suffix, known)
        hint = f"did you mean {variable(near)}?" if near else f"known: {', '.join(map(variable, known))}"
        sentences.append(f"{name} is not a setting of accelplug and does nothing; {hint}")
    return sentences


def warn_misspelt() -> None:
    """Says each misspelt variable once per process."""
    for sentence in misspelt():
        warn_once(sentence)


def reference() -> str:
    """Every setting as a Markdown table, from the model: `docs/reference/settings.md` is this."""
    rows = ["| variable | key | default | allowed | meaning |", "|---|---|---|---|---|"]
    for name, schema in Settings.model_json_schema()["properties"].items():
        default = f"`{schema['default']}`" if schema["default"] != "" else "empty"
        rows.append(f"| `{variable(name)}` | `{name}` | {default} | {_allowed(schema)} | {schema['description']} |")
    return "\n".join(rows)


def _allowed(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema["type"] == "number":
        return f"more than {schema['exclusiveMinimum']:g}, at most {schema['maximum']:g}"
    return "text"


def _file(environ: Mapping[str, str]) -> Path | None:
    if named := environ.get(FILE_VARIABLE):
        if not os.path.isfile(named):
            raise BadInputError(f"{FILE_VARIABLE} names {named!r}, which is not a file; correct the path or unset it")
        return Path(named)
    places = (Path(FILE), platformdirs.user_config_path("accelplug") / FILE)
    return next((place for place in places if os.path.isfile(place)), None)


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return TomlConfigSettingsSource(Settings, path)()
    except ValueError as error:  # not TOML, or not UTF-8
        raise BadInputError(f"{path}: {error}{_given_twice(path)}") from None
    except OSError as error:
        raise BadInputError(f"{path} can't be read: {error.strerror}") from None


def _given_twice(path: Path) -> str:
    """The keys that a file has twice: TOML's own message does not name them."""
    keys = re.findall(r"^\s*([\w-]+)\s*=", path.read_text(errors="replace"), re.MULTILINE)
    twice = sorted({key for key in keys if keys.count(key) > 1})
    return f"; given twice: {', '.join(twice)}" if twice else ""


def _complaints(error: ValidationError, sources: Mapping[str, str]) -> str:
    known = [*Settings.model_fields]
    lines = []
    for problem in error.errors():
        name, value = str(problem["loc"][0]), problem["input"]
        if name in known:
            hint = did_you_mean(str(value), get_args(Settings.model_fields[name].annotation))
            lines.append(f"{sources[name]}: {name} = {value!r}: {problem['msg']}{hint}")
        else:
            hint = did_you_mean(name, known)
            lines.append(f"{sources[name]}: unknown key {name!r}{hint}; allowed: {', '.join(known)}")
    return "\n".join(lines)
