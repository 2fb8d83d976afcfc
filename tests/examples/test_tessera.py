"""examples/tessera: a made-up chip, described in few lines. That vLLM serves on it: tests/e2e/test_native.py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from processes import Run, environment

from accelplug.sim import build
from tools.installing import install

TESSERA = Path(__file__).parents[2] / "examples" / "tessera"
OWN_LINES = 150  # what describes the whole chip, its simulation included


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder that has the example installed, for PYTHONPATH."""
    build.library()  # so that no test's time limit covers building it
    return install(TESSERA, into=tmp_path_factory.mktemp("tessera"))


def test_all_that_the_vendor_wrote_is_short() -> None:
    files = [file for file in (TESSERA / "accelplug_tessera").iterdir() if file.suffix in (".py", ".toml")]
    assert {file.name for file in files} == {"__init__.py", "attention.py", "probe.py", "profile.toml"}
    lines = [line for file in files for line in file.read_text().splitlines() if line.strip()]
    assert len(lines) <= OWN_LINES


def test_its_own_tests_pass(path: str) -> None:
    """But for the sample of conformance, which tests/e2e/test_new.py runs for a package like it."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not sample", "tests"]
    environ = environment(PYTHONPATH=path)
    done = subprocess.run(command, cwd=TESSERA, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_it_keeps_32_bits_of_an_int64_and_has_no_float64(path: str, python: Run) -> None:
    code = """
import accelplug, json, torch
dev = accelplug.auto().torch_device
kept = torch.tensor([2**32 + 5, -7]).to(dev).tolist()
try:
    torch.ones(1, dtype=torch.float64, device=dev)
except TypeError as error:
    print(json.dumps([str(dev), kept, str(error)]))
"""
    done = python(code, PYTHONPATH=path, ACCELPLUG_SIMULATE="tessera")
    device, kept, refused = json.loads(done.stdout)
    assert (device, kept) == ("tessera", [5, -7])
    assert "holds int64 as int32" in done.stderr, "it is said"
    assert "tessera (simulated) has no float64; it has bool" in refused


def test_its_simulated_chip_holds_what_its_hook_says(path: str, python: Run) -> None:
    code = """
import accelplug_tessera, json
from accelplug.sim.profile import find
from accelplug.specs import Probe
said, made = accelplug_tessera.accelplug_constraints(probe=Probe(verdict="no_hardware", reason="")), find("tessera")
for name in ("dtypes", "casts", "alignment_bytes", "static_shapes"):
    assert getattr(said, name) == getattr(made, name), name
print(json.dumps(said.buckets))
"""
    done = python(code, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert {size % 32 for size in json.loads(done.stdout)} == {0}, "whole tiles"
