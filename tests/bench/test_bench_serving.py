"""Who serves in a benchmark: the one package that offers to, by name; several are an error before anything runs."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from accelplug.bench import Serving, serving
from accelplug.bench.models import PUBLISHED
from accelplug.errors import BadInputError

SIZES = PUBLISHED["smollm2-135m"]
SERVER = """
from accelplug.bench import Serving

def serve(device, model, sizes, dtype):
    return Serving(requests=len(device), tokens_per_second=2.0)
"""
Offer = Callable[[str], None]


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Installs a package that offers to serve; those that are really installed are out of sight."""
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    (tmp_path / "made_up_server.py").write_text(SERVER)

    def install(name: str) -> None:
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{serving.ENTRY_POINTS}]\n{name} = made_up_server:serve\n")
        importlib.invalidate_caches()

    return install


def served(by: EntryPoint | None) -> Serving:
    return serving.served(by, "cpu", "folder", SIZES, "float32")


def test_without_a_package_that_serves_the_result_says_so(offer: Offer) -> None:
    assert "accelplug[vllm]" in served(serving.server()).error


def test_the_one_that_offers_serves_and_is_named(offer: Offer) -> None:
    offer("acme")

    result = served(serving.server())
    assert (result.by, result.requests, result.error) == ("acme (acme 1.0)", 3, "")


def test_several_that_offer_are_an_error_that_names_them(offer: Offer) -> None:
    offer("acme")
    offer("other")

    with pytest.raises(BadInputError, match=r"acme \(acme 1.0\) and other \(other 1.0\).*--no-serving"):
        serving.server()
