"""Packages that are installed beside the environment, for PYTHONPATH."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools import installing


def test_a_search_path_has_no_empty_entry_which_would_be_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert installing.search_path(Path("/new"), "/other") == {"PYTHONPATH": os.pathsep.join(["/new", "/other"])}
    monkeypatch.setenv("PYTHONPATH", "/old")
    assert installing.search_path(Path("/new")) == {"PYTHONPATH": os.pathsep.join(["/new", "/old"])}


def test_what_pip_can_not_install_is_said_with_the_command_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    for _ in range(2):
        with pytest.raises(installing.InstallError, match=r"pip install .*no-such-package==1 ended with 1"):
            installing.overlay("none", "no-such-package==1")
