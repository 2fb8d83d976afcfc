"""Makes the chosen device live in this process, once, and hands out the device to put things on.

For devices that PyTorch has in tree there is nothing to do. The others are loaded: their SDK registers a device type,
for good. A process that was forked from one with such a device must not use it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from accelplug import default_backend, slot, tables
from accelplug.errors import ActivationError, ForkedDeviceError
from accelplug.notices import warn_once
from accelplug.plugins import running
from accelplug.specs import DeviceSpec, Selection

if TYPE_CHECKING:
    import torch

_lock = threading.Lock()
_loaded_in: dict[str, int] = {}  # the devices with an SDK, and the process that loaded it; a fork inherits this


class Device:
    """A live device: ``torch_device`` is what tensors and modules go on; ``selection`` says why it is this one."""

    def __init__(self, spec: DeviceSpec, selection: Selection, index: int | None = None) -> None:
        self.name = spec.name
        self.index = index
        self.selection = selection
        self._spec = spec
        self._pid = os.getpid()

    @property
    def torch_device(self) -> torch.device:
        """The ``torch.device``. Raises ForkedDeviceError in a forked child, where the device can't work."""
        if self._spec.load is not None:
            _refuse_forked(self.name, self._pid)
        import torch

        return torch.device(str(self))

    def __str__(self) -> str:
        return self._spec.torch_type if self.index is None else f"{self._spec.torch_type}:{self.index}"

    def __repr__(self) -> str:
        return f"<accelplug device {self.name} as {str(self)!r}, decided by {self.selection.decided_by}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.name, self.index) == (other.name, other.index)

    def __hash__(self) -> int:
        return hash((self.name, self.index))

    def _repr_html_(self) -> str:
        return self.selection._repr_html_()


def activate(spec: DeviceSpec, selection: Selection, index: int | None = None) -> Device:
    """Makes the device live: loads its SDK if it has one and this process hasn't yet, then makes ``index`` the
    current device, if one is given.

    Where it fails, the environment is as before; what an SDK has registered with PyTorch can't be taken back.
    Raises ActivationError if the SDK doesn't load or leaves PyTorch without a working device, or if another device has
    PyTorch's one place for such a device (then nothing was touched); ForkedDeviceError in a child of a process that
    has loaded it.
    """
    if spec.load is not None:
        with _lock:
            _load(spec, spec.load)
            if index is not None and slot.holder() == spec.torch_type:
                _set_device(spec, index)
    tables.make_live(spec)
    return Device(spec, selection, index)


def _load(spec: DeviceSpec, load: Callable[[], None]) -> None:
    name = spec.name
    if name in _loaded_in:
        _refuse_forked(name, _loaded_in[name])
        return
    slot.refuse_a_second(name, spec.torch_type)
    if slot.holder() == spec.torch_type:
        warn_once(f"{spec.torch_type} was registered with PyTorch before, by {slot.registered_by(spec.torch_type)}")
    before = dict(os.environ)
    try:
        with running(name):
            load()
        slot.check_registered(name, spec.torch_type)
        if spec.stand_in is not None:
            tables.stand_in(spec.torch_type, spec.stand_in)
        default_backend.serve(spec.torch_type)
    except ActivationError:
        _restore(before)
        raise
    except (Exception, SystemExit) as error:
        _restore(before)
        raise ActivationError(f"{name} could not be made live: {type(error).__name__}: {error}") from error
    _loaded_in[name] = os.getpid()


def _restore(environ: dict[str, str]) -> None:
    """Undoes what a failed load did to the environment, and touches no variable that it left alone."""
    for name in os.environ.keys() - environ.keys():
        del os.environ[name]
    for name, value in environ.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _set_device(spec: DeviceSpec, index: int) -> None:
    import torch

    try:
        torch.accelerator.set_device_index(index)
    except RuntimeError as error:
        raise ActivationError(f"{spec.name} is live, but has no device {index}: {error}") from error


def _refuse_forked(name: str, pid: int) -> None:
    if os.getpid() != pid:
        raise ForkedDeviceError(
            f"{name} was made live in process {pid} and can't be used in its forked child {os.getpid()}; "
            "start processes with the spawn method: multiprocessing.get_context('spawn')"
        )
