"""What mkdocs calls while it builds the site: generated and copied pages, links out of docs/, the graph of imports."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tools.site import cli_page, import_graph, json_page, python_pages  # noqa: E402

GENERATED: dict[str, Callable[[], str]] = {
    "reference/python.md": python_pages.api,
    "reference/records.md": python_pages.records,
    "reference/libraries.md": python_pages.libraries,
    "reference/cli.md": cli_page.page,
    "reference/json.md": json_page.page,
}
COPIED = {"benchmarks.md": "benchmarks/RESULTS.md", "changelog.md": "CHANGELOG.md"}
COPIES = {path: uri for uri, path in COPIED.items()}
WIDE = "---\nhide: [toc]\n---\n"
RECORDS = ("accelplug/hookspecs.py", "accelplug/specs/")
IMAGE = re.compile(r"!\[([^\]]*)\]\(((?:\.\./)*images/[\w-]+)\.png\)")  # each has a dark form beside it
MENTION = re.compile(r"`docs/([\w/-]+\.md)`")  # as docstrings name a page
LINK = re.compile(r"\[([^\]]+)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages that are made from code, and those that lie elsewhere in the repository."""
    for uri, make in GENERATED.items():
        files.append(File.generated(config, uri, content=make()))
    for uri, path in COPIED.items():
        files.append(File.generated(config, uri, content=WIDE + (ROOT / path).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turns links, which are written for people who read the files, and draws the graph of imports where it is."""
    here = page.file.src_uri
    if here in GENERATED:
        markdown = MENTION.sub(lambda match: f"[{_title(DOCS / match[1])}](../{match[1]})", markdown)
    elif here not in COPIED:
        markdown = IMAGE.sub(r"![\1](\2.png#only-light)![\1](\2-dark.png#only-dark)", markdown)
        markdown = LINK.sub(lambda match: _link(here, match), markdown)
    return import_graph.drawn(markdown)


def _link(here: str, match: re.Match[str]) -> str:
    """The link as it is on the site.

    One to a file outside of docs/ leads to its page on the site, or is just its text where there is none. A page that
    is called by its file's name gets its title.
    """
    text, path, anchor = match[1], match[2], match[3] or ""
    target = (DOCS / here).parent.joinpath(path).resolve()
    if target.is_relative_to(DOCS):
        return f"[{_title(target)}]({path}{anchor})" if text == path and path.endswith(".md") else match[0]
    file = target.relative_to(ROOT).as_posix()
    if file.startswith(RECORDS):
        name = text.strip("`")
        page, anchor = "reference/records.md", f"#{name.lower()}" if name.isidentifier() else ""
    else:
        page = COPIES.get(file, "")
    return f"[{text}]({'../' * here.count('/')}{page}{anchor})" if page else text


def _title(page: Path) -> str:
    match = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise ValueError(f"{page} has no heading")
    return match[1]
