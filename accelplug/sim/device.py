"""Registers the simulated device with PyTorch: once in a process, under one name, for good."""

from __future__ import annotations

import atexit
import os
from typing import Any

from accelplug.sim import build, numbering, ownership
from accelplug.sim.profile import Profile

_profile: Profile | None = None


def registered() -> str:
    """The PyTorch name under which this process has the simulated device, "" where it has none."""
    return _profile.torch_type if _profile else ""


def profile() -> Profile:
    """What this process's simulated device is. Raises RuntimeError where it has none."""
    if _profile is None:
        raise RuntimeError(
            "this process has no simulated device; ACCELPLUG_SIMULATE=NAME and accelplug.auto() make one"
        )
    return _profile


def register(profile: Profile, count: int, visible_devices: str = "") -> None:
    """Makes ``torch.device(profile.torch_type)`` the simulated device, with ``count`` of them.

    ``visible_devices`` is the variable that limits which of the machine's devices these are, "" where there is none.
    What can fail is done before PyTorch is changed. A second call with the same name changes nothing.
    Raises BuildError where the library can't be built, ImportError where it can't be loaded, RuntimeError where another
    device has the one place that PyTorch has for such a device.
    """
    global _profile
    import torch

    name = profile.torch_type
    if registered() == name:
        return
    holder = torch._C._get_privateuse1_backend_name()
    if holder != "privateuseone":
        raise RuntimeError(f"{holder} is registered with PyTorch in this process; start a new one to simulate {name}")
    build.SIMULATOR.load("accelplug_sim_load")
    ops = torch.ops.accelplug_sim
    _configure(ops, profile, count)
    ops.set_lock_files(ownership.lock_files(profile, count, visible_devices))
    if name_of := profile.faults.lost_with_file:
        ops.lose_with([name_of.format(n=number) for number in numbering.numbers(visible_devices, count)])
    torch.utils.rename_privateuse1_backend(name)
    ops.init()
    _profile = profile
    atexit.register(_settle, os.getpid())
    _make_usable(profile)


def _configure(ops: Any, profile: Profile, count: int) -> None:
    ops.set_device_count(count)
    ops.set_memory(profile.memory_bytes, profile.alignment_bytes)
    ops.set_dtypes([*profile.dtypes], [*profile.casts], profile.warn_of_casts)
    ops.set_native([*profile.native], [*profile.not_native])
    ops.set_costs(profile.launch_us, profile.transfer_bytes_per_second)
    faults = profile.faults
    ops.set_wrong([*faults.wrong_answer_in])
    ops.arm(faults.lost_at_call, faults.out_of_memory_at_allocation)


def _settle(pid: int) -> None:
    """Lets autograd's threads finish. A forked child has none of them, and must not start any."""
    import torch

    if os.getpid() == pid:
        torch.ops.accelplug_sim.settle_autograd()


def _make_usable(profile: Profile) -> None:
    import torch

    from accelplug.sim import module, printing, recurrent

    torch._register_device_module(profile.torch_type, module.DeviceModule(profile))
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    recurrent.register()
    if not profile.holds("float64"):
        printing.print_from_a_copy(profile.torch_type)
