"""Each kernel as an operator of its own, with the schema of the one it stands for.

``torch.ops.accelplug_kernels.neuron__nki__mm_tiled.aten_mm`` is what graphs show and tables call.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from accelplug.errors import BackendError, FallbackRefusedError
from accelplug.specs import Kernel, StandIn
from accelplug.specs.kernel import NAMESPACE
from accelplug.tables import dispatch, kernel_checks, operators, predicate

REFUSES = "__refuses"

_library: Any = None  # kept: its operators go when it does
_defined: set[str] = set()


@dataclass
class Tally:
    """What became of calls that were chosen for in Python, by `offers`: as `KernelCount`. C++ counts its own."""

    calls: int = 0
    passed_on: int = 0
    refused: Counter[predicate.Clause] = field(default_factory=Counter)


class KernelOp:
    """A kernel on one device.

    ``target`` is the operator it stands for, ``clauses`` are what it asks of calls, ``op`` is its own operator once
    `define` was called, ``refuses_name`` the operator that asks the record's own function ("" without one), ``number``
    its number in C++ (None where it can't run eagerly), ``unavailable`` why it isn't there ("" where it is).
    """

    def __init__(self, kernel: Kernel, device: str, device_type: str, stand_in: StandIn | None) -> None:
        """Checks the record, and changes nothing in PyTorch. Raises BackendError for what could not work."""
        self.kernel = kernel
        self.device = device
        self.key = operators.dispatch_key(device_type)
        self.target = kernel_checks.operator_of(kernel, self.key)
        self.schema = self.target._schema
        self._arguments = len(self.schema.arguments)
        self.clauses = predicate.clauses(kernel, self.schema)
        self.number: int | None = None
        self.unavailable = ""
        self.said: Counter[str] = Counter()  # reasons that its own functions gave for not taking a call
        self.offered = Tally()
        self.on_host = stand_in.on_host if stand_in else None
        self.spells_out = stand_in.spells_out if stand_in else None
        self.when_unavailable: Callable[[], None] = lambda: None  # told once, so that nobody tries it again
        self._function: Callable[..., Any] | None = None
        self._lock = threading.Lock()
        self.name, self.overload = f"{NAMESPACE}::{device}__{kernel.provider}__{kernel.name}", _overload(kernel.op)
        self.refuses_name = f"{self.name}{REFUSES}" if kernel.refuses is not None else ""
        self.op: Any = None

    def define(self) -> None:
        """Makes the operator. Raises BackendError where one of this name is there already."""
        _define(self)
        self.op = operators.find(f"{self.name}.{self.overload}")
        if self.spells_out is not None and self.kernel.fake is None and not self.schema.is_mutable:
            self.spells_out(self.op, self.run_reference)

    def failing(self, arguments: list[Any]) -> str | None:
        """Why it doesn't take this call, None where it does. ``arguments`` are all of the schema's."""
        if refused := predicate.failing(self.clauses, arguments):
            clause, got = refused
            return f"it takes calls where {clause}; got {got}"
        return self._refused(arguments)

    def load(self) -> bool:
        """Loads the kernel's function where that hasn't been done; False where it isn't there (`unavailable`)."""
        with self._lock:
            if self._function is None and not self.unavailable:
                self._load()
            return self._function is not None

    def _load(self) -> None:
        if self.on_host is not None:
            self._function = self.on_host(self.kernel.reference, f"{self.kernel.op} ({self.kernel})")
            return
        import torch

        try:
            function = self.kernel.load()
        except ImportError as error:
            self.unavailable = str(error) or "ImportError"
            self.when_unavailable()
            return
        if isinstance(function, torch._ops.OpOverload):
            kernel_checks.check_same_arguments(self.kernel, self.schema, function)
            if self.number is not None and not _is_python(function, self.key):
                name, _, overload = function.name().partition(".")
                dispatch.ops().call_directly(self.number, name, overload)
        else:
            kernel_checks.check_signature(self.kernel, self.schema, "function", function)
        self._function = function

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The operator's implementation on the device."""
        import torch

        if self._function is None and not self.load():
            return self._pass_on(NotImplementedError(f"kernel {self.kernel} isn't there: {self.unavailable}"))
        args, kwargs = self._given(args, kwargs)
        try:
            return self._function(*args, **kwargs)  # type: ignore[misc]
        except FallbackRefusedError:  # inside the kernel; it is a NotImplementedError to PyTorch's users
            raise
        except NotImplementedError as error:
            return self._pass_on(error)
        except (torch.OutOfMemoryError, torch.AcceleratorError):
            raise
        except Exception as error:
            _add_note(error, f"raised by kernel {self.kernel} of {self.kernel.op} on {self.device}")
            raise

    def run_reference(self, *args: Any, **kwargs: Any) -> Any:
        """The operator's implementation on the CPU, where compiled code of a simulated device runs."""
        args, kwargs = self._given(args, kwargs)
        return self.kernel.reference(*args, **kwargs)

    def run_fake(self, *args: Any, **kwargs: Any) -> Any:
        """The operator's implementation on tensors without data."""
        args, kwargs = self._given(args, kwargs)
        return (self.kernel.fake or self.kernel.reference)(*args, **kwargs)

    def refuses(self, *args: Any, **kwargs: Any) -> bool:
        """The implementation of the operator that asks the record's own function, where it has one."""
        reason = self._refused(operators.bound(self.schema, args, kwargs))
        if reason is not None:
            self.said[reason] += 1
        return reason is not None

    def _refused(self, arguments: list[Any]) -> str | None:
        if self.kernel.refuses is None:
            return None
        args, kwargs = operators.split(self.schema, arguments)
        try:
            return self.kernel.refuses(*args, **kwargs)
        except Exception as error:
            _add_note(error, f"raised by `refuses` of kernel {self.kernel} of {self.kernel.op} on {self.device}")
            raise

    def _pass_on(self, error: NotImplementedError) -> Any:
        """Leaves a call that came from a table to the next kernel. Any other caller gets the exception."""
        if self.number is None or not dispatch.ops().pass_on(self.number):
            raise error
        import torch

        self.said[str(error) or "NotImplementedError"] += 1
        nothing = [torch.empty(0) for _ in self.schema.returns]  # the table throws it away
        return nothing[0] if len(nothing) == 1 else tuple(nothing)

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The arguments with the schema's defaults: PyTorch leaves out what equals one."""
        if len(args) + len(kwargs) == self._arguments:
            return args, kwargs
        return operators.split(self.schema, operators.bound(self.schema, args, kwargs))


def _overload(op: str) -> str:
    """``"aten_mm"`` for "aten::mm"."""
    return op.replace("::", "_").replace(".", "_")


def _define(made: KernelOp) -> None:
    """Defines the operator: on the device, on tensors without data, and for a simulated device on the CPU."""
    global _library
    import torch

    if _library is None:
        _library = torch.library.Library(NAMESPACE, "FRAGMENT")
    bare = made.name.partition("::")[2]
    arguments = str(made.schema)[str(made.schema).index("(") :]
    qualified = f"{bare}.{made.overload}"
    if qualified in _defined:
        raise BackendError(f"kernel {made.kernel} of {made.kernel.op} is registered in this process already")
    _defined.add(qualified)
    _library.define(f"{qualified}{arguments}")
    _library.impl(qualified, made.run, made.key)
    _library.impl(qualified, made.run_fake, "Meta")
    if made.on_host is not None:
        _library.impl(qualified, made.run_reference, "CPU")
    if made.refuses_name:
        asking = f"{made.refuses_name.partition('::')[2]}.{made.overload}"
        _library.define(f"{asking}{arguments[: arguments.rindex('->')]}-> bool")
        _library.impl(asking, made.refuses, made.key)


def forget() -> None:
    """Takes the operators out of PyTorch, as a test that installs backends needs."""
    global _library
    if _library is not None:
        _library._destroy()
    _library = None
    _defined.clear()


def _is_python(op: Any, key: str) -> bool:
    """Whether the operator's kernel for ``key`` was registered from Python: its exceptions need Python to be caught."""
    import torch

    name = op.name().replace("::", "/")
    return any(f"{name}/{each}" in torch.library._impls for each in (key, "CompositeExplicitAutograd"))


def _add_note(error: Exception, note: str) -> None:
    """``error.add_note``, which Python 3.10 doesn't have: there it is kept, and not shown."""
    notes = getattr(error, "__notes__", [])
    error.__notes__ = [*notes, note]
