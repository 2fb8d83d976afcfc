"""Reports in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from accelplug.conformance.records import AreaReport, ConformanceReport
from accelplug.errors import BadInputError
from accelplug.files import complaint, read_text, write_whole


def read(path: Path) -> ConformanceReport:
    """A report that ``--json`` or ``--keep`` has written. Raises BadInputError with what is wrong in the file."""
    text = read_text(path)
    try:
        return ConformanceReport.model_validate(_without_computed(json.loads(text)))
    except ValueError as error:
        said = complaint(error) if isinstance(error, ValidationError) else str(error)
        raise BadInputError(f"{path} is no report of accelplug conform: {said}") from None


def write(path: Path, report: ConformanceReport) -> None:
    """Whoever reads the file meanwhile sees the report before, or this one."""
    write_whole(path, report.model_dump_json(indent=2) + "\n")


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


if __name__ == "__main__":
    print(schema(), end="")
