"""`accelplug bench` for real: on the CPU and on a simulated device, with sizes that take no time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from accelplug.bench import Bench, models, run
from accelplug.errors import AccelplugError, BadInputError
from accelplug.sim import build

CONFIG = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 512,
}
FEW = ("residual add", "sampling: sort", "decoder layer, op by op")
Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def sizes(tmp_path: Path) -> str:
    """A folder with a checkpoint's config.json."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return str(folder)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from accelplug.cli import main; main()", "bench", *arguments],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "100", **environ},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


def test_a_run_on_two_devices_says_what_fell_back_and_who_is_how_far_from_the_limit(
    command: Command, sizes: str, tmp_path: Path
) -> None:
    build.library()  # so that no time limit covers building it
    only = [argument for name in FEW for argument in ("--only", name)]
    done = command(
        *("--devices", "cpu,spyre", "--model", sizes, "--quick", *only, "--html", "bench.html"),
        ACCELPLUG_SIMULATE="spyre",
    )
    assert done.returncode == 0, done.stderr
    found = Bench.load(tmp_path / "bench.json")
    assert found.complete
    assert found.setup.dtype == "bfloat16"
    assert [(device.device, device.simulated) for device in found.devices] == [("cpu", False), ("spyre", True)]
    for device in found.devices:
        assert device.roofline is not None
        assert [measured.name for measured in device.measured] == [*FEW]
        assert all(measured.seconds > 0 and not measured.error for measured in device.measured)
    assert found["cpu"].measured[1].fell_back == ()
    assert found["spyre"].measured[1].fell_back == ("aten::sort.stable",)
    assert "spyre: simulated, so these are times of the CPU under it and not of hardware" in done.stdout
    assert "What to do next" in (tmp_path / "bench.html").read_text()


def test_a_run_that_was_broken_off_is_gone_on_with_and_a_complete_one_is_left_alone(sizes: str, tmp_path: Path) -> None:
    file = tmp_path / "bench.json"

    class StopError(Exception):
        pass

    def stop(what: str, ended: int, planned: int) -> None:
        if what.endswith("sampling: sort"):
            raise StopError

    arguments = {"model": sizes, "file": file, "quick": True, "only": ("residual add", "sampling: sort")}
    with pytest.raises(StopError):
        run(["cpu"], progress=stop, **arguments)  # type: ignore[arg-type]
    broken_off = Bench.load(file)
    assert not broken_off.complete
    assert [measured.name for measured in broken_off["cpu"].measured] == ["residual add"]

    complete = run(["cpu"], **arguments)  # type: ignore[arg-type]
    assert complete["cpu"].measured[0] == broken_off["cpu"].measured[0]
    assert [measured.name for measured in complete["cpu"].measured] == ["residual add", "sampling: sort"]

    before = file.stat().st_mtime_ns
    assert run(["cpu"], **arguments) == complete  # type: ignore[arg-type]
    assert file.stat().st_mtime_ns == before

    with pytest.raises(BadInputError, match=r"has a run with another dtype .*--output.*--fresh"):
        run(["cpu"], dtype="float32", **arguments)  # type: ignore[arg-type]


def test_an_operator_that_a_device_cannot_run_is_reported_and_the_others_are_measured(tmp_path: Path) -> None:
    impossible = {**CONFIG, "num_attention_heads": 4, "num_key_value_heads": 3}  # which no attention divides
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(impossible))
    found = run(["cpu"], str(folder), file=tmp_path / "odd.json", quick=True, only=("attention", "residual add"))
    add, attention = found["cpu"].measured
    assert add.seconds > 0
    assert attention.error.startswith("RuntimeError: ")


def test_a_device_that_is_not_usable_is_named_with_its_verdict(tmp_path: Path, sizes: str) -> None:
    with pytest.raises(AccelplugError, match="neuron can't be measured: no_hardware"):
        run(["neuron"], sizes, file=tmp_path / "bench.json")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--model", "lama-3.1-8b"), "is neither a folder nor known; did you mean 'llama-3.1-8b'?"),
        (("--dtype", "float8"), "--dtype 'float8' is not allowed; allowed: bfloat16, float16, float32"),
        (("--only", "nothing*"), "no workload is named like nothing*"),
        (("--output", "nowhere/bench.json"), "there is no folder"),
        (("--against", "missing.json"), "missing.json can't be read"),
    ],
)
def test_bad_input_is_refused_with_what_is_allowed(command: Command, arguments: tuple[str, ...], said: str) -> None:
    done = command("--devices", "cpu", "--quick", *arguments)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_a_checkpoint_without_the_parts_that_are_measured_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(
        json.dumps({key: CONFIG[key] for key in CONFIG if key != "intermediate_size"})
    )
    with pytest.raises(BadInputError, match="has no intermediate_size; decoder-only models"):
        models.sizes(str(tmp_path))


@pytest.mark.parametrize(("text", "why"), [("{", "is no JSON: "), ("[]", "is no JSON object")])
def test_a_checkpoint_whose_configuration_is_broken_is_refused(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(BadInputError, match=f"its config.json {why}"):
        models.sizes(str(tmp_path))
