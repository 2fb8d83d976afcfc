"""Runs the catalogue on devices, and puts what came of it side by side."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from accelplug_vllm.tiny.models import checkpoint

from tools.server import serving
from tools.support import served
from tools.support.catalogue import STARTS
from tools.support.verdicts import verdict

ROOT = Path(__file__).parents[2]
CPU = "cpu"
DEVICES: dict[str, dict[str, str]] = {
    CPU: {"ACCELPLUG_DEVICE": CPU},
    "neuron": {"ACCELPLUG_SIMULATE": "neuron"},
    "spyre": {"ACCELPLUG_SIMULATE": "spyre"},
    "unlimited": {"ACCELPLUG_SIMULATE": str(Path(__file__).with_name("unlimited.toml"))},
}
OFFLINE = {"HF_HUB_OFFLINE": "1"}

Came = dict[str, dict[str, Any]]  # by feature: its output, or why it was refused or failed


def offline(device: str, folder: Path, names: tuple[str, ...] = tuple(STARTS)) -> Came:
    """What came of the starts of these names, in a process of their own. What a crash left out has failed."""
    file, log = folder / f"{device}.jsonl", folder / f"{device}.log"
    print(f"{device}: {len(names)} models ...", flush=True)
    file.touch()
    with log.open("w") as stream:
        command = [sys.executable, "-m", "tools.support.offline", str(file), *names]
        environ = {**os.environ, **OFFLINE, **DEVICES[device]}
        code = subprocess.run(command, env=environ, cwd=ROOT, stdout=stream, stderr=stream, check=False).returncode
    came = {line.pop("feature"): line for line in map(json.loads, file.read_text().splitlines())}
    failed = [name for name, one in came.items() if "failed" in one]
    missing = [feature.name for name in names for feature in STARTS[name].features if feature.name not in came]
    if failed or missing:
        print(
            f"{device}: {', '.join([*failed, *missing])}: the end of the log:\n{log.read_text()[-4000:]}",
            file=sys.stderr,
        )
    return came | {name: {"failed": f"the process ended with {code}"} for name in missing}


def online(device: str, folder: Path) -> Came:
    """What came of the features of a server."""
    print(f"{device}: a server ...", flush=True)
    model, environ = str(checkpoint(served.MODEL)), {**OFFLINE, **DEVICES[device]}
    with serving(model, *served.OPTIONS, log=folder / f"{device}-server.log", environ=environ) as server:
        return served.run(server)


def rows(came: dict[str, Came]) -> list[dict[str, Any]]:
    """A row for each feature: its name, the option that asks for it, and a verdict for each device."""
    listed = [(feature, start.flag) for start in STARTS.values() for feature in start.features]
    listed += [(feature, "") for feature in served.FEATURES]
    return [
        {"feature": feature.name, "flag": flag}
        | {
            device: verdict(found[feature.name], {} if device == CPU else came[CPU][feature.name], feature.tolerance)
            for device, found in came.items()
        }
        for feature, flag in listed
    ]
