"""The stand-in for a vendor's SDK: an installed package whose import registers the simulated device."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator

from accelplug.sim import dynamo, machine
from accelplug.sim.profile import Profile

_expected: dict[str, tuple[Profile, int, str]] = {}  # while a stand-in may be imported: what it registers


@contextlib.contextmanager
def standing_in(profile: Profile, count: int, visible_devices: str) -> Iterator[None]:
    """Makes the profile's SDK importable inside, with ``count`` devices to register.

    ``visible_devices`` is the variable by which the backend limits them.

    torch is imported first: its autoload then finds what is really installed, and a failure of the stand-in is an
    exception of the backend's ``load``, not one that ends ``import torch``.
    Raises RuntimeError where the real SDK is already imported, which can't be taken back.
    """
    import torch  # noqa: F401

    path = str(machine.site(profile))
    _refuse_the_real_one(profile, path)
    _expected[profile.name] = (profile, count, visible_devices)
    sys.path.insert(0, path)
    importlib.invalidate_caches()
    try:
        yield
    except BaseException:
        if profile.sdk:
            sys.modules.pop(profile.sdk.module, None)  # so that another try imports it again
        raise
    finally:
        sys.path.remove(path)
        del _expected[profile.name]


def bring_up(name: str) -> None:
    """Registers the device and the SDK's Dynamo backend. Called by the stand-in's module when it is imported.

    Raises RuntimeError where somebody else imports that.
    """
    from accelplug.sim import device

    if name not in _expected:
        if device.registered() == name:
            return  # imported again, in a process that has the device
        raise RuntimeError(f"this stand-in for an SDK can only be imported by accelplug: ACCELPLUG_SIMULATE={name}")
    profile, count, visible_devices = _expected[name]
    device.register(profile, count, visible_devices)
    if profile.sdk and profile.sdk.dynamo_backend:
        dynamo.offer(profile.sdk.dynamo_backend, str(machine.site(profile)))


def _refuse_the_real_one(profile: Profile, path: str) -> None:
    module = sys.modules.get(profile.sdk.module) if profile.sdk else None
    origin = getattr(module, "__file__", None) or ""
    if module is not None and not origin.startswith(path):
        raise RuntimeError(
            f"{module.__name__} is already imported from {origin or 'somewhere'}, so nothing can stand in for it; "
            "start a process that doesn't import it (TORCH_DEVICE_BACKEND_AUTOLOAD=0 keeps torch from doing so)"
        )
