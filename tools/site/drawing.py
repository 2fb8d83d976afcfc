"""Draws the graph of imports as SVG: parts in rows, so that every arrow points down. Colours are the page's own."""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.site.import_graph import Graph

Point = tuple[float, float]

WIDTH, HEIGHT = 144.0, 34.0  # of a box
ACROSS, DOWN = 16.0, 30.0  # between boxes
ROUNDS = 24  # of putting each part between those it is tied to


def svg(graph: Graph) -> str:
    """A figure with an alternative text. Where an arrow follows from two others, it is left out."""
    imports = {name: set(part.imports) for name, part in graph.items() if part.imports is not None}
    arrows = {name: _direct(name, imports) for name in imports}
    rows, chains = _rows(arrows)
    across = _placed(rows, chains)
    depth = {name: row * (HEIGHT + DOWN) for row, names in enumerate(rows) for name in names}
    boxes = "".join(_box(name, across[name], depth[name], graph[name].modules) for name in imports)
    lines = "".join(_line([(across[name], depth[name]) for name in chain]) for chain in chains)
    width = max(across.values()) + WIDTH / 2
    height = len(rows) * (HEIGHT + DOWN) - DOWN
    said = "; ".join(f"{name} imports {', '.join(sorted(others))}" for name, others in arrows.items() if others)
    return (
        f'<figure class="imports"><svg viewBox="-2 -2 {width + 4:.0f} {height + 4:.0f}" role="img" '
        f'aria-label="{escape(said)}">{lines}{boxes}</svg></figure>\n'
    )


def _direct(name: str, imports: dict[str, set[str]]) -> set[str]:
    """What it imports and would not reach otherwise."""
    reached = {far for near in imports[name] for far in _reachable(near, imports)}
    return imports[name] - reached


def _reachable(name: str, imports: dict[str, set[str]]) -> set[str]:
    return imports[name] | {far for near in imports[name] for far in _reachable(near, imports)}


def _rows(arrows: dict[str, set[str]]) -> tuple[list[list[str]], list[list[str]]]:
    """The names in each row from the top, and each arrow as the names that it passes: where it crosses a row, a name of
    its own keeps the place."""
    height: dict[str, int] = {}

    def above_ground(name: str) -> int:
        if name not in height:
            height[name] = 1 + max((above_ground(below) for below in arrows[name]), default=-1)
        return height[name]

    top = max(map(above_ground, arrows))
    rows: list[list[str]] = [[] for _ in range(top + 1)]
    for name in arrows:
        rows[top - height[name]].append(name)
    chains = []
    for name, others in arrows.items():
        for other in sorted(others):
            between = [f"{name}>{other}>{level}" for level in range(height[name] - 1, height[other], -1)]
            for level, place in zip(range(height[name] - 1, height[other], -1), between, strict=True):
                rows[top - level].append(place)
            chains.append([name, *between, other])
    return rows, chains


def _placed(rows: list[list[str]], chains: list[list[str]]) -> dict[str, float]:
    """The middle of everything: rows are sorted by the middle of what each name is tied to, then spread.

    By turns from the top, where a name follows those above it, and from the bottom, where it follows those below.
    """
    above: dict[str, list[str]] = {name: [] for row in rows for name in row}
    below: dict[str, list[str]] = {name: [] for row in rows for name in row}
    for chain in chains:
        for upper, lower in pairwise(chain):
            below[upper].append(lower)
            above[lower].append(upper)
    across = {name: place * (WIDTH + ACROSS) for row in rows for place, name in enumerate(row)}
    for turn in range(ROUNDS):
        tied, order = (above, rows) if turn % 2 else (below, rows[::-1])
        for row in order:
            wanted = {name: _mean([across[other] for other in tied[name]] or [across[name]]) for name in row}
            row.sort(key=lambda name: wanted[name])
            across |= _spread(row, wanted)
    left = min(across.values()) - WIDTH / 2
    return {name: place - left for name, place in across.items()}


def _spread(row: list[str], wanted: dict[str, float]) -> dict[str, float]:
    """Middles from left to right that are far enough apart, as a whole where they were wanted."""
    places: dict[str, float] = {}
    edge = -float("inf")
    for name in row:
        half = 0.0 if ">" in name else WIDTH / 2
        places[name] = max(edge + half, wanted[name])
        edge = places[name] + half + ACROSS
    shift = _mean([wanted[name] - places[name] for name in row])
    return {name: place + shift for name, place in places.items()}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _box(name: str, x: float, y: float, modules: tuple[str, ...]) -> str:
    return (
        f'<g><title>{escape(", ".join(modules))}</title><rect x="{x - WIDTH / 2:.0f}" y="{y:.0f}" width="{WIDTH:.0f}" '
        f'height="{HEIGHT:.0f}" rx="4"/><text x="{x:.0f}" y="{y + HEIGHT / 2:.0f}">{escape(name)}</text></g>'
    )


def _line(corners: list[Point]) -> str:
    """A curve from the lower edge of the first box to the upper edge of the last, upright where it crosses a row."""
    x, y = corners[0]
    y += HEIGHT
    path = f"M{x:.0f} {y:.0f}"
    for place, (next_x, next_y) in enumerate(corners[1:], start=2):
        middle = (y + next_y) / 2
        path += f"C{x:.0f} {middle:.0f} {next_x:.0f} {middle:.0f} {next_x:.0f} {next_y:.0f}"
        x, y = next_x, next_y
        if place < len(corners):
            y += HEIGHT
            path += f"V{y:.0f}"
    return f'<path d="{path}"/>'
