"""The demo's model is found in the package that carries it."""

from __future__ import annotations

import sys

import pytest

from tools import checkpoint


def test_the_model_is_found_without_importing_the_package_that_carries_it() -> None:
    assert [file.suffix for file in checkpoint.package_folder().glob("*.gguf")] == [".gguf"]
    assert checkpoint.PACKAGE not in sys.modules


def test_without_the_models_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "PACKAGE", "no_such_model_package")
    with pytest.raises(ModuleNotFoundError, match="make setup"):
        checkpoint.package_folder()
