"""What is asked of a chip before its package is written. Every answer but the name has a default."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from accelplug.errors import did_you_mean
from accelplug.scaffold import names
from accelplug.specs.record import Record

MODELS_RUN_IN = ("bfloat16", "float16", "float32")
USUAL = ("bool", "uint8", "int8", "int16", "int32", *MODELS_RUN_IN)


class Answers(Record):
    """One chip, as its vendor describes it on the first day. Descriptions are the questions that people read."""

    name: str = Field(description="What people type: --device NAME")
    title: str = Field(description="What do people call the device?")
    sdk: str = Field(description="Which module, when it is imported, registers the device with PyTorch?")
    device_node: str = Field(description="Which file is there for each device? {n} is its number")
    dtypes: tuple[str, ...] = Field(USUAL, description="Which dtypes can its tensors have, but for int64?")
    int64: bool = Field(True, description="Does it keep all 64 bits of int64? No: the SDK keeps 32 under that name")
    static_shapes: bool = Field(False, description="Does its compiler take fixed shapes only?")
    alignment: int = Field(64, ge=1, le=1 << 30, description="What is the unit of its memory, in bytes?")
    attention: Literal["pytorch", "own"] = Field(
        "pytorch", description="Who computes attention: PyTorch's operators, or a function of your own?"
    )

    @model_validator(mode="before")
    @classmethod
    def _named_after_the_chip(cls, values: Any) -> Any:
        """The defaults that follow from the name."""
        name = values.get("name", "")
        named = {"title": name.replace("_", " ").title(), "sdk": f"torch_{name}", "device_node": f"/dev/{name}{{n}}"}
        return {**named, **values}

    @field_validator("name")
    @classmethod
    def _free(cls, name: str) -> str:
        if complaint := names.complaint(name):
            raise ValueError(complaint)
        return name

    @field_validator("title")
    @classmethod
    def _one_line(cls, title: str) -> str:
        if not re.fullmatch(r"[^\W_][\w .,()+-]{0,39}", title):
            raise ValueError("a letter or digit first, then at most 39 letters, digits, spaces and . , ( ) + - _")
        return title

    @field_validator("sdk")
    @classmethod
    def _a_module(cls, sdk: str) -> str:
        if not re.fullmatch(r"[a-z_][a-z0-9_]*", sdk):
            raise ValueError("a top-level module, such as 'torch_acme'")
        return sdk

    @field_validator("device_node")
    @classmethod
    def _numbered(cls, node: str) -> str:
        if not re.fullmatch(r"(/[\w.-]+)+/[\w.-]*\{n\}[\w.-]*", node) or ".." in node.split("/"):
            raise ValueError("a path whose last name has {n} in it, such as '/dev/acme{n}'")
        return node

    @field_validator("dtypes")
    @classmethod
    def _known(cls, dtypes: tuple[str, ...]) -> tuple[str, ...]:
        from accelplug.sim.profile import DTYPES  # the simulator is for those who simulate

        for dtype in dtypes:
            if dtype == "int64":
                raise ValueError("int64 is a question of its own (--int64, --no-int64); leave it out")
            if dtype not in DTYPES:
                raise ValueError(
                    f"unknown dtype {dtype!r}{did_you_mean(dtype, DTYPES)}; known: {', '.join(sorted(DTYPES))}"
                )
        if missing := [dtype for dtype in ("bool", "uint8", "int32") if dtype not in dtypes]:
            raise ValueError(f"PyTorch and vLLM can't do without {', '.join(missing)}; add it")
        if not {*MODELS_RUN_IN} & {*dtypes}:
            raise ValueError(f"models run in one of {', '.join(MODELS_RUN_IN)}; add at least one")
        return tuple(dict.fromkeys(dtypes))

    @property
    def package(self) -> str:
        """The Python package."""
        return f"accelplug_{self.name}"

    @property
    def distribution(self) -> str:
        """What pip calls it."""
        return self.package.replace("_", "-")

    @property
    def sdk_distribution(self) -> str:
        """What pip calls the SDK."""
        return self.sdk.replace("_", "-")

    @property
    def device_folder(self) -> str:
        """Where the device nodes are."""
        return self.device_node.rpartition("/")[0]

    @property
    def device_pattern(self) -> str:
        """A regular expression for the whole name of a device node."""
        return re.escape(self.device_node.rpartition("/")[2]).replace(r"\{n\}", r"\d+")

    @property
    def device_named(self) -> str:
        """The device nodes, as a person reads them: ``/dev/acme<N>``."""
        return self.device_node.replace("{n}", "<N>")

    @property
    def held(self) -> tuple[str, ...]:
        """The dtypes of `accelplug.specs.Constraints`."""
        return (*self.dtypes, "int64") if self.int64 else self.dtypes

    @property
    def preferred_dtype(self) -> str:
        """What models run in where nobody asks."""
        return next(dtype for dtype in MODELS_RUN_IN if dtype in self.dtypes)
