"""The graph of imports that docs/architecture.md has as text: read, compared with the imports, and brought up to date.

In a fenced block of the language ``imports``, each line is a part of the code, with the modules that it consists of and
the parts that it imports:

    tables [tables ops] -> choosing, hooks and records

A module without a package in front is one of accelplug's. A part without an arrow is one that any other may import, and
no arrow leads to it. ``python -m tools.site.import_graph`` writes the arrows anew; parts and modules are yours to name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
BLOCK = re.compile(r"```imports\n(.*?)```\n", re.DOTALL)
LINE = re.compile(r"(?P<name>[^\[\]]+) \[(?P<modules>[\w ]+)\](?: ->(?P<imports>.*))?")
PACKAGES = ("accelplug", "accelplug_neuron", "accelplug_spyre", "accelplug_vllm")


class Part(NamedTuple):
    """``imports`` is None for a part that any other may import."""

    modules: tuple[str, ...]
    imports: tuple[str, ...] | None


Graph = dict[str, Part]


def parse(text: str) -> Graph:
    """The parts in the order of their lines. Raises ValueError for a line that is none."""
    graph: Graph = {}
    for line in text.strip().splitlines():
        match = LINE.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"{line!r} is not `part [modules] -> parts`")
        imports = match["imports"]
        names = None if imports is None else tuple(each.strip() for each in imports.split(",") if each.strip())
        graph[match["name"]] = Part(tuple(match["modules"].split()), names)
    return graph


def written(graph: Graph) -> str:
    """The graph as its lines."""
    lines = []
    for name, part in graph.items():
        arrow = "" if part.imports is None else f" -> {', '.join(part.imports)}".rstrip()
        lines.append(f"{name} [{' '.join(part.modules)}]{arrow}\n")
    return "".join(lines)


def on_page() -> Graph:
    """The graph as docs/architecture.md has it."""
    (text,) = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    return parse(text)


def as_imported(graph: Graph) -> Graph:
    """The same parts with the arrows that the code has. Raises ValueError for a module that no part has, or that is
    not there."""
    import grimp  # comes with import-linter

    code = grimp.build_graph(*PACKAGES, include_external_packages=False, exclude_type_checking_imports=True)
    part_of = {module: name for name, part in graph.items() for module in part.modules}
    there = {_short(module) for module in code.modules}
    if part_of.keys() != there:
        new, gone = sorted(there - part_of.keys()), sorted(part_of.keys() - there)
        raise ValueError(f"docs/architecture.md, the graph of imports: no part has {new}; not in the code: {gone}")
    arrows: dict[str, set[str]] = {name: set() for name in graph}
    for module in code.modules:
        here = part_of[_short(module)]
        for imported in code.find_modules_directly_imported_by(module):
            other = part_of[_short(imported)]
            if other != here and graph[other].imports is not None:
                arrows[here].add(other)
    return {
        name: part._replace(imports=None if part.imports is None else tuple(n for n in graph if n in arrows[name]))
        for name, part in graph.items()
    }


def _short(module: str) -> str:
    """``tables`` of ``accelplug.tables.kernels``; the package's own name where there is nothing below it."""
    package, _, below = module.partition(".")
    return below.partition(".")[0] if package == "accelplug" and below else package


def drawn(markdown: str) -> str:
    """A page with the graph's text replaced by its drawing."""
    from tools.site import drawing

    return BLOCK.sub(lambda match: drawing.svg(parse(match[1])), markdown)


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(f"```imports\n{written(as_imported(on_page()))}```\n", page), encoding="utf-8")
