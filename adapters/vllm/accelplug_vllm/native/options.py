"""What a person may say to accelplug through vLLM: ``--additional-config '{"accelplug": {...}}'``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from accelplug.errors import BadInputError, did_you_mean
from accelplug.specs import Record

FLAG = "--additional-config"
KEY = "accelplug"


class Options(Record):
    """Each key, with what it means."""

    layers_on_device: tuple[str, ...] = Field(
        (),
        description="vLLM's layers, by class, that run on a device while the rest of the model stays on the CPU: "
        "`RMSNorm`. With `--device cpu`.",
    )


def read(additional_config: Any) -> Options:
    """The options in vLLM's ``additional_config``. Raises BadInputError with every mistake, and what is allowed."""
    given = additional_config.get(KEY, {}) if isinstance(additional_config, Mapping) else {}
    if not isinstance(given, Mapping):
        raise BadInputError(f"{FLAG} {KEY}: {given!r} is no object; give one with {', '.join(Options.model_fields)}")
    try:
        return Options.model_validate(given)
    except ValidationError as error:
        raise BadInputError("\n".join(_complaint(problem) for problem in error.errors())) from None


def _complaint(problem: Any) -> str:
    name = str(problem["loc"][0])
    if name not in Options.model_fields:
        known = [*Options.model_fields]
        return f"{FLAG} {KEY}: unknown key {name!r}{did_you_mean(name, known)}; allowed: {', '.join(known)}"
    return f"{FLAG} {KEY}.{name}: {problem['input']!r}: {problem['msg'].removeprefix('Value error, ')}"
