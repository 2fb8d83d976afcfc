"""The JSON schema of what ``--json`` prints: ``python -m accelplug.cli.schema > docs/reference/cli-schema.json``."""

from __future__ import annotations

import itertools
import json
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from accelplug.bench.comparing import BenchComparison
from accelplug.bench.records import Bench
from accelplug.cli.failures import Failure
from accelplug.cli.ray_resources import RayResources
from accelplug.conformance import ConformanceReport
from accelplug.conformance.changes import Comparison
from accelplug.doctor import Report
from accelplug.scaffold import Written
from accelplug.servers.status import ServerStatus
from accelplug.specs import Explanation, FallbackReport, OpExplanation, Selection
from accelplug.tracing.summary import TraceSummary

OUTPUTS: dict[str, tuple[type[BaseModel], ...]] = {
    "devices": (Selection,),
    "explain": (Explanation, OpExplanation),  # the second with --op
    "doctor": (Report,),
    "bench": (Bench, BenchComparison),  # the second with --against
    "conform": (ConformanceReport, Comparison),  # the second with --compare
    "report": (FallbackReport,),
    "trace": (TraceSummary,),
    "top": (ServerStatus,),  # with --once
    "ray-resources": (RayResources,),
    "new": (Written,),
}


def schema() -> dict[str, Any]:
    """One schema for all commands: the output of command X is ``#/$defs/output-X``, and any may print a Failure."""
    every: list[type[BaseModel]] = [*itertools.chain(*OUTPUTS.values()), Failure]
    by_model, definitions = models_json_schema(
        [(model, "serialization") for model in every],
        title="What the accelplug command prints with --json",
        description="Each command's output is the definition output-COMMAND.",
    )
    failure = by_model[Failure, "serialization"]
    outputs = {
        f"output-{command}": {"anyOf": [*(by_model[model, "serialization"] for model in models), failure]}
        for command, models in OUTPUTS.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **definitions,
        "$defs": {**definitions["$defs"], **outputs},
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in outputs],
    }


def text() -> str:
    """The schema as the file has it."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(text(), end="")
