"""The fenced blocks of README.md and docs/, with what comments before them say.

Comments directly before a block speak of it, and readers don't see them:

    <!-- not run: why; a test that does it, if there is one -->
    <!-- with: ACCELPLUG_SIMULATE=neuron -->    the environment; Python begins a new process with it
    <!-- before: x = 1 -->                      Python to run before the block, which a reader takes for granted
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MARKERS = ("not run", "with", "before")

_COMMENTS_AND_FENCES = re.compile(
    r"(?P<comments>(?:^<!--(?:(?!-->).)*-->\n)*)^(?P<indent> *)```(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)
_COMMENT = re.compile(r"<!--\s*(?P<marker>[a-z ]+):\s*(?P<said>.*?)\s*-->", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block; ``line`` is that of its first line of text."""

    page: Path
    line: int
    language: str
    title: str
    text: str
    markers: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def environment(self) -> dict[str, str]:
        return dict(each.split("=", 1) for each in self.markers.get("with", "").split())


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _COMMENTS_AND_FENCES.finditer(text):
        language, _, rest = match["info"].strip().partition(" ")
        title = re.search(r'title="([^"]+)"', rest)
        found.append(
            Block(
                page=page,
                line=text.count("\n", 0, match.start("text")) + 1,
                language=language,
                title=title[1] if title else "",
                text=re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE),
                markers={each["marker"].strip(): each["said"] for each in _COMMENT.finditer(match["comments"])},
            )
        )
    return found


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def runnable(*languages: str) -> list[Block]:
    """The blocks in these languages that nothing says can't be run."""
    return [block for block in BLOCKS if block.language in languages and "not run" not in block.markers]
