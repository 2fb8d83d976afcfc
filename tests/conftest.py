"""Fixtures that all tests share: nobody's own settings leak in, and backends are really installed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gpu_trees
import hypothesis
import pytest
from backend_site import Site, forget
from fake_packages import Packages
from processes import PATIENCE, Run, environment

from accelplug.specs import Host

hypothesis.settings.register_profile("accelplug", deadline=None)  # how long an example takes says nothing of it
hypothesis.settings.load_profile("accelplug")


@pytest.fixture(autouse=True, scope="session")
def no_settings_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No ACCELPLUG_* variable and no accelplug.toml, and no terminal's width: for what several tests share, too."""
    with pytest.MonkeyPatch.context() as patch:
        without_settings(patch)
        patch.delenv("COLUMNS", raising=False)  # processes that run tests side by side have one
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-config"))
        yield


@pytest.fixture(autouse=True)
def no_settings_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """No ACCELPLUG_* variable but those a test sets."""
    without_settings(monkeypatch)


def without_settings(patch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("ACCELPLUG_")]:
        patch.delenv(name)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A folder to install backends in, next to the ones that are installed for real."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    forget()
    yield Site(folder)
    forget()


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    """An empty folder to install packages of any kind into, which a host of theirs sees and nothing else."""
    folder = tmp_path / "packages"
    folder.mkdir()
    return Packages(folder)


@pytest.fixture
def cpu_only(tmp_path: Path) -> Host:
    """A machine without any accelerator, with a CPU build of torch."""
    return Host(tmp_path / "cpu-only", environ={}, site=[gpu_trees.torch_site(tmp_path / "cpu-torch")])


@pytest.fixture
def python(tmp_path: Path) -> Run:
    """Runs code in a new interpreter, in an empty folder; keywords are further environment variables."""

    def run(code: str, **environ: str) -> subprocess.CompletedProcess[str]:
        folder = tmp_path / "cwd"
        folder.mkdir(exist_ok=True)
        return subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            env=environment(**environ),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    return run


@pytest.fixture
def restless_threads() -> Iterator[None]:
    """Threads take turns as often as they can, so that what isn't guarded goes wrong."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.fixture
def fresh_dynamo() -> Iterator[None]:
    """Dynamo has compiled nothing yet."""
    import torch

    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture(scope="session")
def checkpoint() -> Path:
    """The folder of a real small chat model, made once for all tests and kept in the user's cache."""
    from tools.checkpoint import checkpoint

    return checkpoint()
