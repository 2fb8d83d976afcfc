"""What must hold for a kernel to be registered, said when the device is made live and not when a call goes wrong."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from accelplug.errors import BackendError, BadInputError
from accelplug.specs import Kernel
from accelplug.tables import operators


def operator_of(kernel: Kernel, device_key: str) -> Any:
    """The operator that the kernel stands for.

    Raises BackendError where there is none, where no kernel could stand for it, or where the functions of the record
    can't take its arguments.
    """
    try:
        op = operators.find(kernel.op)
    except BadInputError as error:
        raise BackendError(f"kernel {kernel}: {error}") from None
    _check_operator(kernel, op, device_key)
    for what, function in (("reference", kernel.reference), ("fake", kernel.fake), ("refuses", kernel.refuses)):
        if function is not None:
            check_signature(kernel, op._schema, what, function)
    return op


def _check_operator(kernel: Kernel, op: Any, device_key: str) -> None:
    from torch._C import _dispatch_has_kernel_for_dispatch_key as has_kernel

    schema = op._schema
    if schema.is_mutable or any(result.alias_info for result in schema.returns):
        raise BackendError(
            f"kernel {kernel}: {kernel.op} writes to its arguments or returns a view of one; kernels stand for "
            "operators that return new tensors only"
        )
    if not schema.returns or any(str(result.type) != "Tensor" for result in schema.returns):
        raise BackendError(f"kernel {kernel}: {kernel.op} must return tensors, and nothing else: {schema}")
    if has_kernel(op.name(), "CompositeImplicitAutograd") and not has_kernel(op.name(), device_key):
        raise BackendError(
            f"kernel {kernel}: PyTorch always takes {kernel.op} apart, and a kernel for it would lose its gradient. "
            "Give the operator that it ends in, or one of accelplug.ops"
        )


def check_signature(kernel: Kernel, schema: Any, what: str, function: Callable[..., Any]) -> None:
    """Raises BackendError where the function can't be called with all arguments of the operator."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # written in C, and checked by its first call
    args, kwargs = operators.split(schema, schema.arguments)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise BackendError(f"kernel {kernel}: its {what} doesn't take the arguments of {schema}: {error}") from None


def check_same_arguments(kernel: Kernel, schema: Any, target: Any) -> None:
    """Raises BackendError where an operator that `Kernel.load` returned has other arguments or results."""

    def types(of: Any) -> tuple[list[str], list[str]]:
        return [str(each.type) for each in of.arguments], [str(each.type) for each in of.returns]

    if types(schema) != types(target._schema):
        raise BackendError(
            f"kernel {kernel}: its load returned an operator with other arguments than {schema}: {target._schema}"
        )
