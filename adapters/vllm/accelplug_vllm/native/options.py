"""What a person may say to accelplug through vLLM: ``--additional-config '{"accelplug": {...}}'``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator

from accelplug.buckets import AffineCost, BucketPolicy
from accelplug.errors import BadInputError, did_you_mean
from accelplug.specs import Record

FLAG = "--additional-config"
KEY = "accelplug"


class Options(Record):
    """Each key, with what it means. `reference` makes docs/reference/vllm-options.md of it."""

    tokens: str = Field(
        "",
        description="The sizes that the tokens of a step are padded to, as in buckets.md, or a list of numbers. Empty: "
        "the device's own buckets, else powers of two from 16, up to `--max-num-batched-tokens`. A smaller largest "
        "size lowers that.",
    )
    sequences: str = Field(
        "",
        description="Likewise for the requests of a step: those that attention computes together, and those that "
        "logits are computed for. Empty: powers of two up to `--max-num-seqs`.",
    )
    slicing: bool = Field(True, description="Prefills are cut where two steps cost less than padding to the next size.")
    launch_cost: float = Field(
        AffineCost().launch,
        ge=0,
        allow_inf_nan=False,
        description="What a step costs besides its tokens, in tokens, for `slicing` to reckon with. The default is an "
        "assumption; a larger number means fewer and larger steps.",
    )
    compile: bool = Field(
        False,
        description="Graphs are compiled for each size, where `-cc.mode` doesn't say otherwise. Without, the model "
        "runs op by op.",
    )
    warm_up: bool = Field(True, description="All sizes are compiled before the first request.")
    after_warm_up: Literal["error", "warn"] = Field(
        "error",
        description="What happens where a graph would have to be compiled in service: the step fails, or it is "
        "compiled, logged and counted.",
    )
    layers_on_device: tuple[str, ...] = Field(
        (),
        description="vLLM's layers, by class, that run on a device while the rest of the model stays on the CPU: "
        "`RMSNorm`. With `--device cpu`.",
    )

    @field_validator("tokens", "sequences", mode="before")
    @classmethod
    def _a_list_of_sizes(cls, value: object) -> object:
        return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value

    @field_validator("tokens", "sequences")
    @classmethod
    def _a_ladder(cls, value: str) -> str:
        try:
            return str(BucketPolicy.parse(value)) if value else value
        except BadInputError as error:
            raise ValueError(str(error)) from None


def read(additional_config: Any) -> Options:
    """The options in vLLM's ``additional_config``. Raises BadInputError with every mistake, and what is allowed."""
    given = additional_config.get(KEY, {}) if isinstance(additional_config, Mapping) else {}
    if not isinstance(given, Mapping):
        raise BadInputError(f"{FLAG} {KEY}: {given!r} is no object; give one with {', '.join(Options.model_fields)}")
    try:
        return Options.model_validate(given)
    except ValidationError as error:
        raise BadInputError("\n".join(_complaint(problem) for problem in error.errors())) from None


def refuse_sizes(given: Options, reason: str) -> None:
    """Raises BadInputError where sizes are ``given`` and there are none to set, for that reason."""
    if said := given.model_fields_set - {"layers_on_device"}:
        raise BadInputError(f"{FLAG} {KEY}: {', '.join(sorted(said))}: {reason}, so nothing is to be set; leave it out")


def reference() -> str:
    """Every option as a Markdown table, from the model."""
    rows = ["| key | default | allowed | meaning |", "|---|---|---|---|"]
    for name, schema in Options.model_json_schema()["properties"].items():
        allowed = " or ".join(f'`"{value}"`' for value in schema.get("enum", ())) or ALLOWED[schema["type"]]
        default = schema["default"]
        shown = f"`{str(default).lower()}`" if default not in ("", []) else "empty"
        rows.append(f"| `{name}` | {shown} | {allowed} | {schema['description']} |")
    return "\n".join(rows)


ALLOWED = {"string": "sizes", "number": "a number from 0", "array": "a list of names", "boolean": "`true` or `false`"}


def _complaint(problem: Any) -> str:
    name = str(problem["loc"][0])
    if name not in Options.model_fields:
        known = [*Options.model_fields]
        return f"{FLAG} {KEY}: unknown key {name!r}{did_you_mean(name, known)}; allowed: {', '.join(known)}"
    return f"{FLAG} {KEY}.{name}: {problem['input']!r}: {problem['msg'].removeprefix('Value error, ')}"
