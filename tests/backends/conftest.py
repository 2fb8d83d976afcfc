"""An empty machine to put things into."""

from __future__ import annotations

from pathlib import Path

import pytest
from trees import Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)
