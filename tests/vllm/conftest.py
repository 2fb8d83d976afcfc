"""Real vLLM, and small packages that claim its platform, installed as pip would leave them."""

from __future__ import annotations

import importlib
import multiprocessing
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from accelplug_vllm import handoff, report, resolution
from backend_site import forget

pytest.importorskip("vllm")

InstallPlugin = Callable[..., None]


@pytest.fixture(autouse=True)
def _fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has decided nothing yet, and inherited nothing."""
    monkeypatch.setenv(handoff.VARIABLE, "")  # so that what a test leaves is taken away after it
    monkeypatch.delenv(handoff.VARIABLE)
    assert multiprocessing.parent_process() is None
    resolution.decide.cache_clear()
    report._say.cache_clear()


@pytest.fixture(params=["found before accelplug", "found after accelplug"])
def install_plugin(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InstallPlugin:
    """Installs a package with a vLLM platform plugin; vLLM asks plugins in the order in which it finds them."""
    site = tmp_path / "plugins"
    site.mkdir()
    first = request.param == "found before accelplug"
    monkeypatch.setattr(sys, "path", [str(site), *sys.path] if first else [*sys.path, str(site)])

    def install(name: str, distribution: str, claim: str = "return 'vllm.platforms.cpu.CpuPlatform'") -> None:
        module = f"plugin_{name}_{tmp_path.name.replace('-', '_')}"
        (site / f"{module}.py").write_text(f"def register():\n    {claim}\n")
        info = site / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[vllm.platform_plugins]\n{name} = {module}:register\n")
        importlib.invalidate_caches()
        forget()

    return install


@pytest.fixture
def resolve() -> Callable[[], str]:
    """vLLM's own resolution of its platform, as at the first use of ``current_platform``."""
    from vllm.platforms import resolve_current_platform_cls_qualname

    return resolve_current_platform_cls_qualname
