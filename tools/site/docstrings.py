"""A docstring of this project as Markdown.

The style is plain paragraphs, and names with what they mean below them:

    name
        What it is.

which becomes a list of definitions. A paragraph that begins with ``>>>`` is code.
"""

from __future__ import annotations

import inspect
import re

TERM = re.compile(r"[a-zA-Z_][\w, ]*")


def markdown(text: str | None) -> str:
    """The whole docstring."""
    rest, terms = split(text)
    return "\n\n".join([*([rest] if rest else []), *(definition(f"`{name}`", said) for name, said in terms.items())])


def split(text: str | None) -> tuple[str, dict[str, str]]:
    """The paragraphs as Markdown, and by name (or names, as written) what is said of each."""
    paragraphs: list[str] = []
    terms: dict[str, str] = {}
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        lines = paragraph.splitlines()
        if lines and lines[0].startswith(">>> "):
            paragraphs.append("```python\n" + re.sub(r" *# doctest: .*", "", paragraph) + "\n```")
        elif found := _terms(lines):
            terms |= found
        elif lines:
            paragraphs.append(paragraph.replace("``", "`"))
    return "\n\n".join(paragraphs), terms


def _terms(lines: list[str]) -> dict[str, str]:
    """``name``, then lines that are indented, and so on to the end; nothing where the paragraph is not of that kind."""
    found: dict[str, list[str]] = {}
    for line in lines:
        if TERM.fullmatch(line):
            found[line] = []
        elif line.startswith("    ") and found:
            found[[*found][-1]].append(line.strip())
        else:
            return {}
    return {name: " ".join(said).replace("``", "`") for name, said in found.items()} if all(found.values()) else {}


def definition(term: str, said: str) -> str:
    """One entry of a list of definitions."""
    return f"{term}\n\n:   {said}"
