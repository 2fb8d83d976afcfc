"""Operators as their schemas describe them: finding one by name, and the arguments of a call of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from accelplug.errors import BadInputError, did_you_mean


def find(name: str) -> Any:
    """The overload that ``"aten::mm"`` or ``"aten::add.Tensor"`` names.

    Raises BadInputError, naming the nearest, where there is none. Imports torch.
    """
    import torch

    import accelplug.ops  # noqa: F401  # its operators are named like PyTorch's

    namespace, _, rest = name.partition("::")
    packet_name, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), packet_name, None) if rest else None
    if packet is None:
        known = {operator.split(".")[0] for operator in torch._C._dispatch_get_all_op_names()}
        raise BadInputError(f"unknown operator {name!r}{did_you_mean(name, known)}; write it as aten::mm")
    overloads = packet.overloads()
    if (overload or "default") not in overloads:
        named = [packet_name if each == "default" else f"{packet_name}.{each}" for each in overloads]
        raise BadInputError(
            f"{namespace}::{packet_name} has no overload {overload or 'without a name'}; "
            f"it has: {', '.join(f'{namespace}::{each}' for each in named)}"
        )
    return getattr(packet, overload or "default")


def bound(schema: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """All arguments of a call, in the schema's order, with the defaults of those that aren't given."""
    named = (kwargs.get(argument.name, argument.default_value) for argument in schema.arguments[len(args) :])
    return [*args, *named]


def split(schema: Any, arguments: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """All arguments as a call passes them: by position, and those that are keyword-only by name."""
    positional = [argument for argument in schema.arguments if not argument.kwarg_only]
    number = len(positional)
    return [*arguments[:number]], {
        argument.name: value for argument, value in zip(schema.arguments[number:], arguments[number:], strict=True)
    }


def dispatch_key(device_type: str) -> str:
    """The name of the key that PyTorch dispatches calls on this device type by.

    "PrivateUse1" for every device that isn't PyTorch's own, also one that isn't registered yet.
    """
    import torch

    try:
        return str(torch._C._dispatch_key_for_device(torch.device(device_type).type))
    except RuntimeError:
        return "PrivateUse1"
