"""Examines simulated devices through the Python API: each area runs in processes of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from accelplug import conformance
from accelplug.conformance import ConformanceReport
from accelplug.sim import brought, build

Examine = Callable[..., ConformanceReport]


@pytest.fixture(scope="session")
def library() -> Path:
    """The simulator's library, so that no test's time limit covers building it."""
    return build.library()


@pytest.fixture
def examine(library: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Examine:
    """``examine("neuron", areas=["rng"])``: the profile of that backend, or ``profile=`` the text of one."""

    def run(name: str, *, profile: str = "", **arguments: object) -> ConformanceReport:
        if profile:
            path = tmp_path / "profile.toml"
            path.write_text(profile)
            monkeypatch.setenv("ACCELPLUG_SIMULATE", str(path))
        elif name in brought.profiles():
            monkeypatch.setenv("ACCELPLUG_SIMULATE", name)
        return conformance.run(name, **arguments)  # type: ignore[arg-type]

    return run
