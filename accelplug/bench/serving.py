"""A checkpoint served on a device, by the package that can serve: the entry-point group ``accelplug.serving_bench``.

Such an entry point is a function ``(device, model, sizes, dtype) -> Serving``; it makes nothing live in this process.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint

from accelplug.bench.records import ModelSizes, Serving
from accelplug.entry_points import of_group, origin
from accelplug.errors import BadInputError

ENTRY_POINTS = "accelplug.serving_bench"


def server() -> EntryPoint | None:
    """Who serves, None where no package can. Raises BadInputError where several could: their numbers differ."""
    found = of_group(ENTRY_POINTS)
    if len(found) > 1:
        raise BadInputError(
            f"several packages offer to serve the model: {' and '.join(map(_named, found))}; uninstall all but one, or "
            "leave serving out with --no-serving"
        )
    return found[0] if found else None


def served(by: EntryPoint | None, device: str, model: str, sizes: ModelSizes, dtype: str) -> Serving:
    """What came of serving ``model`` on ``device``, or why nothing could."""
    if by is None:
        return Serving(error="no package that serves models is installed: pip install 'accelplug[vllm]'")
    result: Serving = by.load()(device, model, sizes, dtype)
    return result.model_copy(update={"by": _named(by)})


def _named(entry_point: EntryPoint) -> str:
    return f"{entry_point.name} ({origin(entry_point)})"
