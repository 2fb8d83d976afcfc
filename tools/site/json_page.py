"""The reference of what ``--json`` prints, from the JSON schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from accelplug.cli.schema import OUTPUTS, schema

Node = Mapping[str, Any]


def page() -> str:
    """For each command what it prints, then each object with its fields."""
    definitions: dict[str, Node] = {
        name: node for name, node in schema()["$defs"].items() if not name.startswith("output-")
    }
    intro = (
        "Each command with `--json` prints one object, or a [Failure](#failure) where it can't do what it was asked. "
        "The same as a JSON schema: [cli-schema.json](cli-schema.json), where the output of command X is "
        "`#/$defs/output-X`."
    )
    rows = [
        f"| `accelplug {command}` | {', '.join(_link(model.__name__) for model in models)} |"
        for command, models in OUTPUTS.items()
    ]
    parts = ["# JSON", intro, "\n".join(["| command | prints |", "|---|---|", *rows])]
    for name in sorted(definitions):
        parts += [f"## {_title(name)}", *_definition(definitions[name])]
    return "\n\n".join(parts)


def _definition(node: Node) -> Iterator[str]:
    summary = node.get("description", "").split("\n\n")[0].replace("``", "`")
    if summary:
        yield summary
    if "enum" in node:
        yield "One of " + ", ".join(f"`{value}`" for value in node["enum"]) + "."
    fields = node.get("properties", {})
    if fields:
        rows = [f"| `{name}` | {type_of(field)} |" for name, field in fields.items()]
        yield "\n".join(["| field | type |", "|---|---|", *rows])


def type_of(node: Node) -> str:
    """A schema's type in words, with links to objects."""
    if "$ref" in node:
        return _link(node["$ref"].rpartition("/")[2])
    if "anyOf" in node:
        return " or ".join(type_of(each) for each in node["anyOf"])
    if "enum" in node:
        return ", ".join(f"`{value}`" for value in node["enum"])
    if "const" in node:
        return f"`{node['const']}`"
    kind = node.get("type")
    if kind == "array":
        return f"list of {type_of(node['items'])}" if node.get("items") else "list"
    if kind == "object":
        more = node.get("additionalProperties")
        return f"object of {type_of(more)}" if isinstance(more, Mapping) else "object"
    return str(kind) if kind else "any"


def _title(name: str) -> str:
    """``Outcome of conformance.records`` where several objects have a name: the schema has their modules then."""
    *modules, last = name.split("__")
    return f"{last} of {'.'.join(modules[1:])}" if modules else last


def _link(name: str) -> str:
    title = _title(name)
    return f"[{title}](#{re.sub(r'[^a-z0-9_ -]', '', title.lower()).replace(' ', '-')})"
