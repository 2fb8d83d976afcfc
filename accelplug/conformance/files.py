"""Reports in files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from accelplug.conformance.records import AreaReport, ConformanceReport
from accelplug.errors import BadInputError


def read(path: Path) -> ConformanceReport:
    """A report that ``--json`` or ``--keep`` has written. Raises BadInputError with what is wrong in the file."""
    try:
        return ConformanceReport.model_validate(_without_computed(json.loads(path.read_text(encoding="utf-8"))))
    except (OSError, ValueError) as error:
        raise BadInputError(f"{path} is no report of accelplug conform: {_said(error)}") from None


def write(path: Path, report: ConformanceReport) -> None:
    """Whoever reads the file meanwhile sees the report before, or this one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")
    beside.replace(path)


def schema() -> str:
    """The JSON schema of such a file, as docs/reference/conformance-schema.json has it."""
    described = ConformanceReport.model_json_schema(mode="serialization")
    with_draft = {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}
    return json.dumps(with_draft, indent=2, ensure_ascii=False) + "\n"


def _without_computed(found: Any) -> Any:
    """What a record computes of its fields is written too, and can't be given."""
    if not isinstance(found, dict):
        raise ValueError("it holds no object")
    report = {name: value for name, value in found.items() if name not in ConformanceReport.model_computed_fields}
    areas = report.get("areas")
    if isinstance(areas, list):
        computed = AreaReport.model_computed_fields
        report["areas"] = [
            {name: value for name, value in area.items() if name not in computed} if isinstance(area, dict) else area
            for area in areas
        ]
    return report


def _said(error: OSError | ValueError) -> str:
    if isinstance(error, ValidationError):
        (first, *more) = error.errors()
        where = ".".join(map(str, first["loc"])) or "the whole"
        return f"{where}: {first['msg']}" + (f" (and {len(more)} more)" if more else "")
    return str(getattr(error, "strerror", None) or error)


if __name__ == "__main__":
    print(schema(), end="")
