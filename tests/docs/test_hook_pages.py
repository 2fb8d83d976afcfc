"""Every hook of `accelplug/hookspecs.py` is in docs/hooks/index.md, with a page that shows how it is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fenced_blocks import ROOT, blocks_of

from accelplug import hookspecs

INDEX = ROOT / "docs" / "hooks" / "index.md"
ROWS = re.findall(r"^\| \[`(accelplug_\w+)`\]\(([^)#]+)\)", INDEX.read_text(encoding="utf-8"), re.MULTILINE)
HOOKS = [name for name in vars(hookspecs) if name.startswith("accelplug_")]


def test_the_table_has_the_hooks_in_the_order_of_the_file() -> None:
    assert [name for name, _ in ROWS] == HOOKS


@pytest.mark.parametrize(("name", "page"), ROWS)
def test_the_page_of_a_hook_implements_it(name: str, page: str) -> None:
    file = Path(INDEX.parent, page)
    shown = [block for block in blocks_of(file) if block.language == "python" and "not run" not in block.markers]
    assert any(re.search(rf"@hookimpl\ndef {name}\(", block.text) for block in shown), f"{page}: no {name}"
