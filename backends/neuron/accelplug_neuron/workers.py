"""What a worker process needs in its environment before the SDK is imported."""

from __future__ import annotations

import os

from accelplug.specs import Worker
from accelplug_neuron.cores import NUM_CORES, VISIBLE_CORES, SettingError, parse_cores


def worker_env(worker: Worker) -> dict[str, str]:
    """One logical core for each worker, as the runtime owns cores exclusively and torch-neuronx has one a process.

    Worker ``local_rank`` gets the core at that place among those that ``NEURON_RT_VISIBLE_CORES`` leaves here, else the
    core of that number. To be called where the variable still is the user's: in what starts the workers.
    Raises SettingError where the variables leave fewer cores than there are workers.
    """
    value = os.environ.get(VISIBLE_CORES)
    if value is not None:
        named = sorted(parse_cores(value))
        if worker.local_rank >= len(named):
            problem = f"leaves {_cores(len(named))}, and none for local rank {worker.local_rank}"
            raise SettingError(VISIBLE_CORES, value, problem)
        return {VISIBLE_CORES: str(named[worker.local_rank])}
    number = os.environ.get(NUM_CORES)
    if number is not None and number.strip().isdecimal() and worker.local_rank >= int(number):
        raise SettingError(NUM_CORES, number, f"leaves no core for local rank {worker.local_rank}")
    return {VISIBLE_CORES: str(worker.local_rank)}


def _cores(number: int) -> str:
    return f"{number} core{'s' * (number != 1)}"
