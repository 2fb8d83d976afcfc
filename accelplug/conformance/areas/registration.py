"""Loading the SDK registers one device type with PyTorch, whole, and changes nothing else. (C9, C10)"""

from __future__ import annotations

import torch

from accelplug import slot
from accelplug.conformance.checks import Skip, check, expect, expect_raises
from accelplug.conformance.subject import Subject
from accelplug.errors import ActivationError

METHODS = {
    "Tensor": torch.Tensor,
    "nn.Module": torch.nn.Module,
    "nn.utils.rnn.PackedSequence": torch.nn.utils.rnn.PackedSequence,
}


def _registered(subject: Subject) -> None:
    """Leaves out a device that PyTorch has in tree: nothing is registered for it."""
    subject.live()
    if slot.holder() != subject.type:
        raise Skip(f"PyTorch has {subject.type!r} in tree; nothing is registered")


@check("let `load` register the device type that DeviceSpec.torch_type names, and import nothing else that registers")
def making_it_live_gives_pytorch_the_device(subject: Subject) -> None:
    """The default dtype and the default device stay what they are."""
    default = torch.get_default_dtype(), torch.get_default_device()
    expect(slot.holder() in ("", subject.type), f"{slot.holder()} holds the place before the device is made live")
    live = subject.live()
    expect(live.torch_device.type == subject.type, f"the live device is {live.torch_device}")
    expect(torch.ones(2, device=live.torch_device).device.type == subject.type, "tensors are made elsewhere")
    after = torch.get_default_dtype(), torch.get_default_device()
    expect(after == default, f"the default dtype and device were {default}, and are {after}")


@check("torch._register_device_module(torch_type, module), in the same step as the name: else torch.accelerator raises")
def pytorch_has_the_devices_module(subject: Subject) -> None:
    _registered(subject)
    module = getattr(torch, subject.type, None)
    expect(module is not None, f"there is no torch.{subject.type}")
    expect(torch.get_device_module(subject.type) is module, "torch.get_device_module gives another module")
    wanted = ("is_available", "device_count", "current_device", "set_device", "synchronize", "get_rng_state")
    missing = [name for name in wanted if not callable(getattr(module, name, None))]
    expect(not missing, f"torch.{subject.type} has no {', '.join(missing)}")


@check("torch.utils.generate_methods_for_privateuse1_backend(for_storage=True) makes them")
def tensors_and_modules_have_methods_of_its_name(subject: Subject) -> None:
    _registered(subject)
    missing = [name for name, kind in METHODS.items() if not hasattr(kind, subject.type)]
    expect(not missing, f"{', '.join(f'{name}.{subject.type}' for name in missing)} is missing")
    moved = getattr(torch.ones(2), subject.type)()
    expect(moved.device.type == subject.type, f"torch.ones(2).{subject.type}() is on {moved.device}")
    expect(getattr(moved, f"is_{subject.type}"), f"Tensor.is_{subject.type} says no")
    on_module = getattr(torch.nn.Linear(2, 2), subject.type)()
    expect(on_module.weight.device.type == subject.type, f"Module.{subject.type}() leaves weights elsewhere")


@check("make `load` idempotent")
def making_it_live_again_changes_nothing(subject: Subject) -> None:
    first = subject.live()
    held = torch.ones(2, device=first.torch_device)
    expect(subject.live() == first, "the second time gives another device")
    expect(held.cpu().tolist() == [1, 1], "a tensor that was made before is changed")


@check("don't give up the place, and don't rename it: PyTorch has one for a process")
def a_second_name_is_refused_and_the_first_still_works(subject: Subject) -> None:
    _registered(subject)
    expect_raises(ActivationError, "in a new process", lambda: slot.refuse_a_second("another", "another"))
    expect_raises(RuntimeError, "", lambda: torch.utils.rename_privateuse1_backend("another"))
    expect(torch.ones(2, device=subject.type).device.type == subject.type, "the device is gone")


@check("name DeviceSpec.torch_type as PyTorch does, and let current_accelerator() answer it")
def it_is_the_current_accelerator(subject: Subject) -> None:
    _registered(subject)
    current = torch.accelerator.current_accelerator()
    expect(current == torch.device(subject.type), f"torch.accelerator.current_accelerator() is {current}")
