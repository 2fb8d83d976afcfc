"""Libraries to preload, found on replaceable roots."""

from __future__ import annotations

from pathlib import Path

from accelplug_vllm import preload

from accelplug.specs import Host


def library(root: Path, path: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).touch()


def test_the_smaller_tcmalloc_is_preferred(tmp_path: Path) -> None:
    library(tmp_path, "usr/lib64/libtcmalloc.so.4")
    assert preload.tcmalloc(Host(tmp_path)) == "/usr/lib64/libtcmalloc.so.4"
    library(tmp_path, "usr/lib/libtcmalloc_minimal.so.4")
    assert preload.tcmalloc(Host(tmp_path)) == "/usr/lib/libtcmalloc_minimal.so.4"


def test_without_one_nothing_is_preloaded(tmp_path: Path) -> None:
    assert preload.tcmalloc(Host(tmp_path)) is None


def test_torchs_own_openmp_is_found_wherever_its_wheel_put_it(tmp_path: Path) -> None:
    library(tmp_path, "site/torch/__init__.py")
    assert preload.openmp(Host(tmp_path / "root", site=[tmp_path / "site"])) is None
    library(tmp_path, "site/torch.libs/libgomp-a34b3233.so.1.0.0")
    assert str(preload.openmp(Host(site=[tmp_path / "site"]))).endswith("torch.libs/libgomp-a34b3233.so.1.0.0")


def test_what_is_there_already_is_kept() -> None:
    assert preload.joined("/a.so", "", "/b.so") == "/a.so:/b.so"
