"""Exclusive devices: a second process is told who has the device, as by a card that is opened through VFIO."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
CARDS = 'base = "spyre"\ndevices = 2\nexclusive = true\n'
HOLDS = (
    "import accelplug, torch\nx = torch.ones(2, device=str(accelplug.auto()))\nprint('has it', flush=True)\ninput()\n"
)


@pytest.fixture
def exclusive(profile: Callable[[str], str]) -> str:
    return profile(CARDS)


@pytest.fixture
def runtime(tmp_path: Path) -> dict[str, str]:
    """A runtime folder of the test's own: other tests may simulate the same cards."""
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    return {"XDG_RUNTIME_DIR": str(folder)}


@pytest.fixture
def holder(library: Path, exclusive: str, runtime: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A process that has card 0."""
    environ = {**os.environ, **runtime, "ACCELPLUG_SIMULATE": exclusive}
    command = [sys.executable, "-c", HOLDS]
    with subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "has it\n"
        yield process
        if process.poll() is None:
            process.communicate("\n")


def test_a_second_process_gets_the_error_of_a_busy_card_with_the_holders_number(
    simulated: Run, exclusive: str, runtime: dict[str, str], holder: subprocess.Popen[str]
) -> None:
    busy = "try:\n    torch.ones(2, device=D)\nexcept RuntimeError as error:\n    print(error)"
    said = simulated(exclusive, busy, **runtime).stdout
    assert said.startswith(f"spyre:0 (simulated): Device or resource busy: process {holder.pid} has it open")


def test_looking_for_devices_and_making_one_live_opens_none(
    simulated: Run, exclusive: str, runtime: dict[str, str], holder: subprocess.Popen[str]
) -> None:
    code = (
        "print(torch.accelerator.device_count(), torch.spyre.is_available(), torch.get_device_module(D).device_count())"
    )
    assert simulated(exclusive, code, **runtime).stdout == "2 True 2\n"


def test_another_card_is_free_also_under_the_number_that_the_variable_gives_it(
    simulated: Run, exclusive: str, runtime: dict[str, str], holder: subprocess.Popen[str]
) -> None:
    assert simulated(exclusive, "print(torch.ones(1, device='spyre:1').item())", **runtime).stdout == "1.0\n"
    hidden = simulated(exclusive, "print(torch.ones(1, device='spyre:0').item())", SPYRE_DEVICES="1", **runtime)
    assert hidden.stdout == "1.0\n"


def test_a_process_that_ends_gives_its_card_back(
    simulated: Run, exclusive: str, runtime: dict[str, str], holder: subprocess.Popen[str]
) -> None:
    holder.communicate("\n")
    assert holder.returncode == 0
    assert simulated(exclusive, "print(torch.ones(1, device=D).item())", **runtime).stdout == "1.0\n"


def test_without_the_key_devices_are_shared(simulated: Run, holder: subprocess.Popen[str]) -> None:
    assert simulated("spyre", "print(torch.ones(1, device=D).item())").stdout == "1.0\n"
