"""The graph in docs/architecture.md is that of the imports, and has no circle."""

from __future__ import annotations

from graphlib import TopologicalSorter
from xml.etree import ElementTree

import pytest

from tools.site import drawing, import_graph


def test_the_graph_is_that_of_the_imports() -> None:
    graph = import_graph.on_page()
    assert import_graph.as_imported(graph) == graph, "bring it up to date: python -m tools.site.import_graph"


def test_it_has_no_circle() -> None:
    list(TopologicalSorter({name: part.imports or () for name, part in import_graph.on_page().items()}).static_order())


def test_an_arrow_too_many_would_be_seen() -> None:
    graph = import_graph.on_page()
    graph["reports"] = graph["reports"]._replace(imports=("settings",))
    assert import_graph.as_imported(graph) != graph


def test_a_module_that_no_part_has_is_an_error_with_its_name() -> None:
    graph = import_graph.on_page()
    del graph["reports"]
    with pytest.raises(ValueError, match="reporting"):
        import_graph.as_imported(graph)


def test_it_is_drawn_with_every_part_and_every_arrow_points_down() -> None:
    graph = import_graph.parse("a [one two] -> b, c\nb [three] -> c\nc [four] ->\nd [five]\n")
    svg = ElementTree.fromstring(drawing.svg(graph)).find("svg")
    assert svg is not None
    boxes = {box.findtext("text"): float(box.find("rect").attrib["y"]) for box in svg.findall("g")}  # type: ignore[union-attr]
    assert boxes["a"] < boxes["b"] < boxes["c"]
    assert boxes.keys() == {"a", "b", "c"}, "what anything may import is left out"
    assert len(svg.findall("path")) == 2, "from a to c leads b"
