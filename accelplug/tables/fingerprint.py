"""Tells one version of a vendor's functions from another, by text that is the same in every process.

torch's compile caches outlive the process, on disk and between machines. What a graph was compiled with has to be in
their keys, and for a function that is its code, and the values that it holds.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import os
import types
from collections.abc import Iterable, Mapping

from accelplug.errors import BackendError

_PLAIN = (type(None), bool, int, float, complex, str, bytes, enum.Enum)


def fingerprint(parts: Iterable[str]) -> str:
    """32 hexadecimal digits for the parts, in their order."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def name(function: object) -> str:
    """``module:qualname``, or for what has no name the one of its type."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(named, '__module__', '')}:{getattr(named, '__qualname__', '')}"


def described(function: object) -> str:
    """The name and the code of a function: its source file, what it closes over, its defaults, what it calls by name.

    Torch's own functions are described by their name, as torch's version is in every key already.
    Raises BackendError for a callable, or a value held by one, whose contents no text can stand for.
    """
    return _described(function, frozenset())


def _described(value: object, outer: frozenset[int]) -> str:
    import torch

    if id(value) in outer:  # a function that calls itself
        return name(value)
    outer = outer | {id(value)}
    if isinstance(value, functools.partial):
        return f"partial({_all((value.func, value.args, value.keywords), outer)})"
    if isinstance(value, types.FunctionType):
        return _function(value, outer)
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}({_all(value, outer)})"
    if isinstance(value, Mapping):
        return f"{type(value).__name__}({_all(value.items(), outer)})"
    if isinstance(value, (type, types.BuiltinFunctionType, types.ModuleType)):
        return f"{getattr(value, '__module__', '')}.{value.__name__}"
    if isinstance(value, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return str(value)
    if isinstance(value, (*_PLAIN, torch.dtype, torch.device, torch.layout, torch.memory_format)):
        return repr(value)
    raise BackendError(
        f"{value!r} can't be part of a cache key: a decomposition or lowering must be a plain function, and hold only "
        "functions, operators, dtypes, numbers and strings; what it depends on besides goes into `version`"
    )


def _all(values: Iterable[object], outer: frozenset[int]) -> str:
    return ", ".join(_described(value, outer) for value in values)


def _function(function: types.FunctionType, outer: frozenset[int]) -> str:
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    if _is_torchs(function):  # what its decorators wrap may be somebody else's
        inner = [value for value in held if isinstance(value, types.FunctionType)]
        return f"{name(function)}({_all(inner, outer)})"
    called = [
        value
        for used in function.__code__.co_names
        if isinstance(value := function.__globals__.get(used), types.FunctionType) and not _is_torchs(value)
    ]
    parts = [held, function.__defaults__, function.__kwdefaults__, called]
    return f"{name(function)} {_code(function.__code__)}({_all(parts, outer)})"


def _is_torchs(function: types.FunctionType) -> bool:
    """Whether torch defines it, whatever functools.wraps has made of its ``__module__``."""
    return str(function.__globals__.get("__name__", "")).partition(".")[0] == "torch"


def _code(code: types.CodeType) -> str:
    """The whole file that the code is from, as helpers in it count too; the code itself where there is no file."""
    if os.path.isfile(code.co_filename):
        return _file(code.co_filename)
    constants = [_code(value) if isinstance(value, types.CodeType) else _constant(value) for value in code.co_consts]
    return fingerprint([code.co_code.hex(), *code.co_names, *constants])


def _constant(value: object) -> str:
    """A constant as text: the order of a set differs between processes."""
    return f"frozenset({sorted(map(repr, value))})" if isinstance(value, frozenset) else repr(value)


@functools.cache
def _file(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
