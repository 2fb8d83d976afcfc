"""Which logical cores a process sees: LNC, NEURON_RT_VISIBLE_CORES and NEURON_RT_NUM_CORES.

PyTorch counts logical cores (``neuron:0`` is one); each is one or two physical cores. All that is computed here the
runtime computes again when it starts, and refuses what doesn't fit; this says so before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from accelplug_neuron.generations import Generation

LNC = "NEURON_LOGICAL_NC_CONFIG"
VISIBLE_CORES = "NEURON_RT_VISIBLE_CORES"
NUM_CORES = "NEURON_RT_NUM_CORES"

LAST_CORE = 65535  # bounds what a mistyped range makes this process expand


class SettingError(ValueError):
    """A variable that the Neuron runtime would refuse, or that leaves no core. ``variable`` is its name."""

    def __init__(self, variable: str, value: str, problem: str) -> None:
        self.variable = variable
        super().__init__(f"{variable}={value!r}: {problem}")


def logical_nc(environ: Mapping[str, str], known: Generation | None) -> int | None:
    """Physical cores in a logical one: the variable, else the generation's default, None where neither tells.

    Raises SettingError for a number that the generation doesn't have.
    """
    value = environ.get(LNC)
    if value is None:
        return known.default_lnc if known else None
    allowed = [str(lnc) for lnc in (known.lncs if known else (1, 2))]
    if value.strip() not in allowed:
        raise SettingError(LNC, value, f"must be {' or '.join(allowed)}{f' on {known.name}' if known else ''}")
    return int(value)


def logical_ids(devices: Sequence[int], per_device: int) -> frozenset[int]:
    """The ids that logical cores of these devices may be called by.

    In a container with devices 4 to 7 the first core may be called 0 or by its place on the machine; which one is
    up to the container's runtime and not documented, so both are taken.
    """
    numbers = {*devices, *range(len(devices))}
    return frozenset(number * per_device + core for number in numbers for core in range(per_device))


def parse_cores(value: str) -> frozenset[int]:
    """The core ids in "0-3", "0,2" or "0-3,8". Raises SettingError for anything else."""
    ids: set[int] = set()
    if not value.strip():
        raise SettingError(VISIBLE_CORES, value, "names no core")
    for entry in value.split(","):
        match = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", entry.strip())
        if match is None:
            raise SettingError(VISIBLE_CORES, value, f"{entry.strip()!r} is neither a core (2) nor a range (0-3)")
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last:
            raise SettingError(VISIBLE_CORES, value, f"the range {entry.strip()} runs backwards")
        if last > LAST_CORE:
            raise SettingError(VISIBLE_CORES, value, f"no machine has a core {last}")
        ids.update(range(first, last + 1))
    return frozenset(ids)


def format_cores(ids: Iterable[int]) -> str:
    """Core ids in the form that ``parse_cores`` reads: "0-3,8"."""
    runs: list[list[int]] = []
    for core in sorted(ids):
        if runs and core == runs[-1][1] + 1:
            runs[-1][1] = core
        else:
            runs.append([core, core])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def visible(environ: Mapping[str, str], present: frozenset[int], total: int) -> int:
    """How many of ``total`` logical cores, called by the ids ``present``, the variables leave to this process.

    NEURON_RT_VISIBLE_CORES wins over NEURON_RT_NUM_CORES. Raises SettingError where the runtime would refuse: a
    malformed value, an absent core (one is enough), more cores than there are.
    """
    value = environ.get(VISIBLE_CORES)
    if value is not None:
        named = parse_cores(value)
        if absent := named - present:
            problem = f"absent: {format_cores(absent)}; the logical cores here are {format_cores(present)}"
            raise SettingError(VISIBLE_CORES, value, problem)
        return min(len(named), total)
    number = environ.get(NUM_CORES)
    if number is None:
        return total
    if not re.fullmatch(r"[0-9]+", number.strip()) or not 1 <= int(number) <= total:
        raise SettingError(NUM_CORES, number, f"must be a number from 1 to {total}, the logical cores here")
    return int(number)
