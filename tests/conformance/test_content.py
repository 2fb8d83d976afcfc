"""What a report rests on: equal digests for equal software, wherever it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_packages import Packages

from accelplug.conformance.content import of_installed as digest

PACKAGE = {"acme_torch/__init__.py": "", "acme_torch/ops.py": "ADD = 1"}


def elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> str:
    """The digest of the package where it is installed into another environment."""
    folder.mkdir()
    with monkeypatch.context() as there:
        there.syspath_prepend(folder)
        Packages(folder).install("acme-torch", files=files)
        return digest("acme_torch")


def test_scripts_and_metadata_do_not_count_as_each_environment_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def own(place: str) -> dict[str, str]:
        return {"bin/acme": f"#!/{place}/bin/python", "acme_torch-1.0.dist-info/direct_url.json": place}

    one = elsewhere(tmp_path / "one", monkeypatch, {**PACKAGE, **own("one")})
    two = elsewhere(tmp_path / "two", monkeypatch, {**PACKAGE, **own("two")})
    assert one == two != ""


def test_another_file_is_another_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = elsewhere(tmp_path / "one", monkeypatch, PACKAGE)
    two = elsewhere(tmp_path / "two", monkeypatch, {**PACKAGE, "acme_torch/ops.py": "ADD = 2"})
    assert one != two


def test_the_files_count_where_metadata_alone_stands_beside_them(
    packages: Packages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a CPU wheel of vLLM, which has another name than its module: `doctor --fix` adds the metadata."""
    monkeypatch.syspath_prepend(packages.folder)
    packages.install("acme-torch-cpu", files=PACKAGE)
    without = digest("acme_torch")
    packages.install("acme-torch")
    assert digest("acme_torch") == without != ""


def test_an_editable_installation_counts_by_its_sources(packages: Packages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(packages.folder)
    packages.install("acme-torch")
    (packages.folder / "acme_torch").mkdir()
    source = packages.folder / "acme_torch" / "__init__.py"
    source.write_text("ADD = 1")
    before = digest("acme_torch")
    source.write_text("ADD = 2")
    assert "" != before != digest("acme_torch")


def test_what_is_not_installed_has_none() -> None:
    assert digest("acme_torch") == ""
