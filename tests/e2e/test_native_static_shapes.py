"""On a device with static shapes a server compiles what warm-up lists, and nothing in service."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accelplug.sim import build

pytestmark = pytest.mark.e2e

PROGRAM = Path(__file__).with_name("random_lengths.py")
LADDER = {"tokens": "16,128,512,1024", "compile": True}
Said = dict[str, Any]


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Said]:
    """Starts the tiny model on a simulated Trainium, gives it so many requests, and returns what the program says."""
    build.library()
    folder = tmp_path_factory.mktemp("tiny")

    def run(requests: int) -> Said:
        environ = {"HF_HUB_OFFLINE": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "ACCELPLUG_SIMULATE": "neuron"}
        cache = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")}
        options = json.dumps({"additional_config": {"accelplug": LADDER}})
        command = [sys.executable, str(PROGRAM), str(folder / "model"), str(requests), options]
        where: dict[str, Any] = {"env": {**os.environ, **environ, **cache}, "cwd": folder}
        done = subprocess.run(command, capture_output=True, text=True, check=False, **where)
        assert done.returncode == 0, done.stderr[-4000:]
        said: Said = json.loads(done.stdout.splitlines()[-1])
        return said | {"stderr": done.stderr}

    return run


@pytest.fixture(scope="module")
def cold(serve: Callable[[int], Said]) -> Said:
    return serve(200)


def test_200_requests_of_random_lengths_cause_no_compile(cold: Said) -> None:
    assert cold["lengths"] == cold["wanted"], "all were answered"
    assert cold["after"]["compiles"] == cold["before"]["compiles"]
    assert cold["after"]["compiles_in_service"] == 0
    assert cold["traced"] == 0, "Dynamo hasn't looked at anything either"
    assert cold["after"]["hits"].keys() == {"16", "128", "512", "1024"}


def test_warm_up_compiles_four_sizes_of_three_kinds_of_layers_and_says_so_before(cold: Said) -> None:
    assert cold["before"]["compiles"] == 4 * 3, "the layers in the middle share what is compiled"
    assert "accelplug: 3 shapes to compile (tokens: 512, 128, 16); about" in cold["stderr"]


def test_long_prompts_are_sliced_instead_of_padded(cold: Said) -> None:
    assert cold["scheduler"] == "AsyncSlicingScheduler"
    assert cold["after"]["padding"] < cold["after"]["real"] / 4


def test_another_start_finds_everything_in_the_cache(serve: Callable[[int], Said], cold: Said) -> None:
    warm = serve(1)
    assert cold["cache"] == {"hit": 0, "miss": 12 + 5}, "graphs of the model, and logits of 1, 2, 4, 8 and 16 rows"
    assert warm["cache"] == {"hit": 12 + 5, "miss": 0}
