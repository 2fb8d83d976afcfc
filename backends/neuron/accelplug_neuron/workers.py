"""What a worker process needs in its environment before the SDK is imported."""

from __future__ import annotations

import os

from accelplug.specs import Worker
from accelplug_neuron.cores import NUM_CORES, VISIBLE_CORES, SettingError, parse_cores


def worker_env(worker: Worker) -> dict[str, str]:
    """One logical core for each worker, as the runtime owns cores exclusively and torch-neuronx has one a process.

    A worker gets the core at the place of its ``device`` among those that ``NEURON_RT_VISIBLE_CORES`` leaves here, else
    the core of that number.
    Raises SettingError where the variables leave fewer cores than there are workers.
    """
    value = os.environ.get(VISIBLE_CORES)
    if value is not None:
        named = sorted(parse_cores(value))
        if worker.device >= len(named):
            problem = f"leaves {_cores(len(named))}, and none for device {worker.device}, counted from 0"
            raise SettingError(VISIBLE_CORES, value, problem)
        return {VISIBLE_CORES: str(named[worker.device])}
    number = os.environ.get(NUM_CORES)
    if number is not None and number.strip().isdecimal() and worker.device >= int(number):
        raise SettingError(NUM_CORES, number, f"leaves no core for device {worker.device}, counted from 0")
    return {VISIBLE_CORES: str(worker.device)}


def _cores(number: int) -> str:
    return f"{number} core{'s' * (number != 1)}"
