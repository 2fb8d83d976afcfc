"""A vendor's first day: a package is written, its tests pass as they are, and vLLM serves a model on its device."""

from __future__ import annotations

from pathlib import Path

import pytest
from asking import ask
from scratch_environment import Scratch

from accelplug.sim import build
from tools.server import serving

pytestmark = pytest.mark.e2e

SMALL = ("--max-model-len", "256", "--max-num-seqs", "2", "--kv-cache-memory-bytes", "64M", "--served-model-name", "m")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    build.library()  # so that no time limit covers building it
    return Scratch(tmp_path_factory.mktemp("scratch"))


@pytest.fixture(scope="module")
def acme(scratch: Scratch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, as `accelplug new acme --yes && cd acme && make test` leaves it."""
    folder = tmp_path_factory.mktemp("vendor")
    written = scratch.accelplug("new", "acme", "--yes", cwd=folder)
    assert written.returncode == 0, written.stdout
    tested = scratch.run("make", f"PYTHON={scratch.python}", "test", cwd=folder / "acme")
    assert tested.returncode == 0, tested.stdout
    assert "6 passed" in tested.stdout
    return folder / "acme"


def test_its_device_is_there_where_it_is_simulated_and_not_where_it_is_not(acme: Path, scratch: Scratch) -> None:
    devices = ("devices", "--device", "acme")
    there = scratch.accelplug(*devices, cwd=acme, ACCELPLUG_SIMULATE="acme")
    assert there.returncode == 0, there.stdout
    assert "simulated" in there.stdout
    missing = scratch.accelplug(*devices, cwd=acme)
    assert missing.returncode == 1
    assert "no /dev/acme<N> device node" in missing.stdout


def test_vllm_serves_a_model_on_it(acme: Path, scratch: Scratch, checkpoint: Path, tmp_path: Path) -> None:
    environ = {"HF_HUB_OFFLINE": "1", "ACCELPLUG_SIMULATE": "acme"}
    # In bfloat16, Acme's preferred dtype, two first tokens are equally likely, on the CPU too.
    arguments = ("--device", "acme", "--dtype", "float32", *SMALL)
    with serving(
        str(checkpoint), *arguments, program=str(scratch.vllm), log=tmp_path / "log", environ=environ
    ) as server:
        assert "Paris" in ask(server.url, "m")
    assert "native mode on acme" in (tmp_path / "log").read_text()
