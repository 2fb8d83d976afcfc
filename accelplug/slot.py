"""PyTorch's one place for an out-of-tree device: a process has one such device, under one name, for good."""

from __future__ import annotations

import sys
from typing import Any

from accelplug.errors import ActivationError

UNNAMED = "privateuseone"  # what PyTorch calls the place while it is free


def holder() -> str:
    """The name that has the place in this process, "" where it is free. Imports nothing: without torch it is free."""
    torch = sys.modules.get("torch")
    if torch is None:
        return ""
    name = str(torch._C._get_privateuse1_backend_name())
    return "" if name == UNNAMED else name


def refuse_a_second(device: str, torch_type: str) -> None:
    """Raises ActivationError where another name has the place that ``torch_type`` needs. PyTorch is not touched."""
    name = holder()
    if name and name != torch_type and not _in_tree(torch_type):
        raise ActivationError(
            f"{device} can't be made live in this process: {name!r} has PyTorch's one place for an out-of-tree device, "
            f"registered by {registered_by(name)}, and the place can't be given up; use {device} in a new process"
        )


def registered_by(name: str) -> str:
    """Who registered the device, as far as its module tells: a package and its file."""
    module = getattr(sys.modules.get("torch"), name, None)
    if module is None:
        return "code that gave it no module"
    where = getattr(module, "__file__", None)
    maker = module.__name__ if where or type(module).__module__ == "builtins" else type(module).__module__
    return f"{maker} ({where})" if where else maker


def check_registered(device: str, torch_type: str) -> None:
    """What must hold once the SDK is loaded: the device type exists, and ``torch.accelerator`` answers for it.

    Raises ActivationError that says which does not: a name without its module breaks ``torch.accelerator`` for all.
    """
    import torch

    try:
        torch.device(torch_type)
    except RuntimeError as error:
        raise ActivationError(
            f"{device}: its SDK was loaded, but PyTorch knows no device {torch_type!r}; {_has_instead()}"
        ) from error
    if holder() == torch_type:
        _check_accelerator(torch, device, torch_type)


def _check_accelerator(torch: Any, device: str, torch_type: str) -> None:
    question = ""
    try:
        for question in ("is_available", "device_count", "current_accelerator"):
            getattr(torch.accelerator, question)()
    except Exception as error:
        raise ActivationError(
            f"{device}: its SDK registered {torch_type!r}, but torch.accelerator.{question}() fails with "
            f"{type(error).__name__}: {error}; the SDK's registration is incomplete (no torch.{torch_type} module?)"
        ) from error


def _has_instead() -> str:
    return f"{holder()!r} has the place of the out-of-tree device" if holder() else "nothing was registered"


def _in_tree(torch_type: str) -> bool:
    """Whether PyTorch has the device type itself: asking for any other raises."""
    try:
        sys.modules["torch"].device(torch_type)
    except RuntimeError:
        return False
    return True
