"""Pages from templates: what reports say is text in them, never markup. jinja2 is an extra, imported when used."""

from __future__ import annotations

from pathlib import Path
from typing import Any


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
