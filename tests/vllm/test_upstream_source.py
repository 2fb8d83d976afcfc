"""Where vLLM's own tests come from, and the list of those that run."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from accelplug_vllm.upstream import hub, sdist, upstream

from accelplug.testing.page import with_section
from accelplug.testing.records import UpstreamReport
from accelplug.testing.selection import read

ROOT = Path(__file__).parents[2]


def test_the_tests_are_those_of_the_installed_version_without_the_wheels_suffix() -> None:
    import vllm

    assert upstream().version == vllm.__version__.partition("+")[0]


def test_only_the_tests_are_unpacked_as_the_package_would_shadow_the_installed_one(tmp_path: Path) -> None:
    archive = tmp_path / "vllm-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as writing:
        for name in ("vllm-1.0/vllm/__init__.py", "vllm-1.0/tests/ir/test_op.py", "vllm-1.0/setup.py"):
            member = tarfile.TarInfo(name)
            member.size = 4
            writing.addfile(member, io.BytesIO(b"pass"))
    sdist.unpack(archive, tmp_path / "made")
    files = [path.relative_to(tmp_path / "made") for path in (tmp_path / "made").rglob("*") if path.is_file()]
    assert files == [Path("tests/ir/test_op.py")]


def test_what_pip_could_not_do_is_said_and_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(sdist.FetchError, match=r"(?s)can't be fetched: `pip install`.*setuptools"):
        sdist.fetch("0.32.0")
    assert not sdist.folder_of("0.32.0").exists()
    assert not [path for path in sdist.folder_of("0.32.0").parent.iterdir() if path.is_dir()]


def test_the_hub_finds_the_small_models_by_the_names_in_the_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import try_to_load_from_cache

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = hub.home()
    for name in hub.MODELS:
        found = try_to_load_from_cache(name, "config.json", cache_dir=made / "hub")
        assert isinstance(found, str), name
        assert Path(found).is_relative_to(made)
    assert hub.home() == made


def test_the_list_of_tests_is_for_the_version_that_is_installed() -> None:
    assert read(upstream().selection).written_for == upstream().version


def test_the_page_of_the_documentation_is_as_another_run_would_begin_it() -> None:
    page, project = (ROOT / "docs" / "upstream.md").read_text(), upstream()
    run = UpstreamReport(
        title=project.title,
        version=project.version,
        written_for=project.version,
        device="zz",  # its section comes last
        simulated=True,
        torch="2",
        accelplug="1",
        groups={},
        tests=(),
    )
    assert with_section(page, run, project).startswith(page)


@pytest.mark.skipif(not sdist.folder_of(upstream().version).is_dir(), reason="make test-upstream has not fetched them")
def test_vllms_own_tests_of_its_ir_pass_on_a_simulated_device(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--accelplug-upstream", "vllm"]
    command += ["--accelplug-upstream-select", "ir", "--accelplug-upstream-json", str(tmp_path / "report.json")]
    environ = {**os.environ, "ACCELPLUG_SIMULATE": "neuron"}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    report = UpstreamReport.model_validate_json((tmp_path / "report.json").read_text())
    assert (report.device, report.simulated) == ("neuron", True)
    assert report.passed >= 40
