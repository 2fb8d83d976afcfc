"""The fixture that all tests of doctor share."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_packages import Packages


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    """An empty site folder to install packages into, and the host that sees nothing else."""
    folder = tmp_path / "site"
    folder.mkdir()
    return Packages(folder)
