"""What a backend says about its device, once, at discovery."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field

from accelplug.specs.host import Host
from accelplug.specs.probe import Probe
from accelplug.specs.record import Record
from accelplug.specs.stand_in import StandIn
from accelplug.specs.word import Word

ENTRY_POINTS = "accelplug.backends"  # the group in which a package names the module of its backend


class RanOn(Word):
    """The best that this backend's device path, or a kernel, has been run on.

    hardware
        The device itself.
    simulator
        A simulation of it.
    nothing
        Neither.
    """

    hardware = "hardware"
    simulator = "simulator"
    nothing = "nothing"


class Worker(Record):
    """One process of several that run a model together.

    ``device`` is the place of its device, from 0, among those that the server sees: the local rank, but for the second
    and further copies of a model on one machine.
    """

    rank: int
    local_rank: int
    world_size: int
    device: int


class DeviceSpec(Record):
    """One accelerator, described once.

    name
        What people type: ``--device NAME``. Must equal the name of the entry point.
    title
        What people read: "NVIDIA CUDA".
    torch_type
        What ``torch.device()`` is given; several backends may share one (rocm is ``cuda``).
    priority
        Higher is preferred by ``auto``; the in-tree ones are cuda 500, neuron 400, spyre 300, rocm 230, xpu 220,
        mps 210, cpu 0. Equal priorities are ordered by name.
    probe
        ``probe(host) -> Probe``. Reads files, environment and package metadata through ``host``; imports no SDK,
        opens no device, touches no torch.
    isolated_probe
        True when the probe has to run foreign code: it then runs in a process of its own, under the time limit.
    load
        Makes the device exist in PyTorch (imports the SDK). None where PyTorch has the device in tree.
    stand_in
        What compiles for the device once it is loaded, where it is simulated.
    start_method
        How processes that use the device must be started.
    visible_devices
        The environment variable that limits which devices a process sees; "" if there is none.
    exclusive
        A device can be open in one process only.
    distributed_backend
        What ``torch.distributed.init_process_group`` is given for processes that use the device, ``"gloo"`` or
        ``"cpu:gloo,acme:acmeccl"``; "" where several processes can't work together.
    worker_env
        ``worker_env(worker) -> {variable: value}``: what must be in the environment of a worker process before its SDK
        is imported. Asked in the process that starts the worker, whose environment is the user's. A worker for which it
        sets ``visible_devices`` takes the first device that it sees, any other one its place among them. None: nothing.
    ray_resource
        The name under which a Ray cluster counts these devices: "CPU", "GPU", another that Ray knows, or one of the
        vendor's own; "" if there is none.
    masquerades_as
        Names of backends whose PyTorch API this device's SDK answers (an SDK that makes ``torch.cuda`` say yes).
    vllm_plugins
        Entry-point names in ``vllm.platform_plugins`` of the vendor's own vLLM platforms for this device.
    ran_on
        The best that the device path has been run on. Shown wherever the device is.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    title: str
    torch_type: str
    probe: Callable[[Host], Probe]
    priority: int = 250
    isolated_probe: bool = False
    load: Callable[[], None] | None = None
    stand_in: StandIn | None = None
    start_method: Literal["fork", "spawn"] = "spawn"
    visible_devices: str = ""
    exclusive: bool = False
    distributed_backend: str = ""
    worker_env: Callable[[Worker], dict[str, str]] | None = None
    ray_resource: str = ""
    masquerades_as: tuple[str, ...] = ()
    vllm_plugins: tuple[str, ...] = ()
    ran_on: RanOn = RanOn.nothing
