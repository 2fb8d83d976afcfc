"""``accelplug ray-resources``: what ``ray start`` has to be told so that Ray counts a machine's devices."""

from __future__ import annotations

import json
import os
from typing import Annotated

import typer
from pydantic import Field

from accelplug import settings
from accelplug.api import devices as look
from accelplug.cli.options import ASKED_BY, DeviceOption, JsonOption
from accelplug.cli.said import warnings_said
from accelplug.errors import AccelplugError
from accelplug.plugins import device_spec
from accelplug.selection import require
from accelplug.specs import Candidate, Record

OWN_OPTIONS = {"CPU": "--num-cpus", "GPU": "--num-gpus"}  # the names that Ray refuses in --resources


class RayResources(Record):
    """The devices of one machine, as a Ray cluster counts them."""

    device: str
    simulated: bool
    resource: Annotated[str, Field(description="Ray's name for one such device.")]
    count: int
    ray_start: Annotated[str, Field(description="The option for `ray start` on this machine.")]


def ray_resources(device: DeviceOption = None, as_json: JsonOption = False) -> None:
    """Print the option with which `ray start` counts the devices of this machine.

    vLLM's workers take one each (--distributed-executor-backend ray). Exits with 1 where Ray can't count such devices.

    Examples:

        accelplug ray-resources

        accelplug ray-resources --device neuron --json

        eval ray start --head $(accelplug ray-resources --device neuron)
    """
    with warnings_said():
        selection = look(device, asked_by=ASKED_BY)
    found = counted(require(selection))
    typer.echo(found.model_dump_json(indent=2) if as_json else found.ray_start)


def counted(candidate: Candidate) -> RayResources:
    """How Ray counts a usable device. Raises AccelplugError where its backend names no resource."""
    values = settings.read().values
    spec = device_spec(candidate.name, values.backends, values.simulate)
    if not spec.ray_resource:
        raise AccelplugError(
            f"{spec.title} can't be counted by Ray: its backend has no name for that (DeviceSpec.ray_resource)"
        )
    # To accelplug the CPU is one device, to Ray as many as it has cores.
    count = os.cpu_count() or 1 if spec.ray_resource == "CPU" else candidate.count
    option = OWN_OPTIONS.get(spec.ray_resource)
    return RayResources(
        device=candidate.name,
        simulated=candidate.simulated,
        resource=spec.ray_resource,
        count=count,
        ray_start=f"{option}={count}" if option else f"--resources='{json.dumps({spec.ray_resource: count})}'",
    )
