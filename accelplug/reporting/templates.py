"""Pages from templates: what reports say is text in them, never markup. jinja2 is an extra, imported when used."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from accelplug.errors import AccelplugError


def require_plots() -> None:
    """Raises AccelplugError where what a page with plots needs isn't installed: jinja2 and plotly."""
    for name in ("jinja2", "plotly"):
        if find_spec(name) is None:
            raise AccelplugError(
                f"a page with plots needs {name}, which is not installed: pip install 'accelplug[report]'"
            )


def render(template: Path, **values: Any) -> str:
    """The page. A name that isn't given is an error. Raises ImportError where jinja2 isn't installed."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(template.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template.name).render(**values)


def in_script(data: Any) -> str:
    """JSON for a ``<script>`` in a page: no ``</script>`` in the data ends it."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
