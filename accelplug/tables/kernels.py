"""A device's kernels: which there are, in which order they are tried, and what became of the calls.

Eagerly, C++ chooses for each call (`dispatch`). In graphs, the device's decomposition table chooses while a graph is
traced (`choices`). Both ask the same clauses in the same order, and end at what PyTorch or the SDK has besides.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from accelplug import settings
from accelplug.errors import did_you_mean
from accelplug.notices import warn_once
from accelplug.plugins import Backend
from accelplug.specs import Kernel, KernelCount, RanOn, StandIn
from accelplug.tables import dispatch, operators, predicate, scope
from accelplug.tables.brought import kernels_of, known_names
from accelplug.tables.fingerprint import described
from accelplug.tables.kernel_ops import KernelOp, Tally

Choice = Callable[..., Any]


class KernelTable:
    """All kernels of one device, made once, the same for all threads."""

    def __init__(self, backend: Backend, device_type: str, stand_in: StandIn | None = None) -> None:
        """Asks the hook. Changes nothing in PyTorch. Raises BackendError for a kernel that can't work."""
        self.device = backend.name
        self.device_type = device_type
        self.simulated = stand_in is not None
        self.setting = _setting()
        self._lock = threading.Lock()
        self._tables: dict[str, int] = {}  # the operators that are dispatched here, and their numbers in C++
        made = [KernelOp(kernel, backend.name, device_type, stand_in) for kernel in kernels_of(backend)]
        self.by_op: dict[str, list[KernelOp]] = {}
        for each in made:
            self.by_op.setdefault(each.target.name(), []).append(each)

    @property
    def all(self) -> list[KernelOp]:
        """Every kernel, by operator."""
        return [each for kernels in self.by_op.values() for each in kernels]

    def define(self) -> None:
        """Makes an operator of each kernel, once. Raises BackendError where one is there already."""
        for each in self.all:
            if each.op is None:
                each.define()

    def dispatch(self) -> None:
        """From now on eager calls of the operators go to the kernels. Says so where C++ can't be built."""
        with self._lock:
            if self._tables or not self.by_op or not dispatch.available():
                return
            ops = dispatch.ops()
            key = operators.dispatch_key(self.device_type)
            for name, kernels in self.by_op.items():
                for each in kernels:
                    each.when_unavailable = self._set_all_orders
                    each.number = ops.add_kernel(
                        each.name, each.overload, each.refuses_name, *predicate.encoded(each.clauses)
                    )
                op, _, overload = name.partition(".")
                self._tables[name] = ops.take_over(op, overload, key)
        scope.follow(self._set_orders)

    def release(self) -> None:
        """Leaves every call to what was there before, as a test that installs backends needs."""
        for number in self._tables.values():
            for each in range(scope.count()):
                dispatch.ops().set_order(number, each, [])

    def _set_orders(self, number: int, state: scope.State) -> None:
        for name, table in self._tables.items():
            order = [each.number for each in self.order(name, state) if not each.unavailable]
            dispatch.ops().set_order(table, number, order)

    def _set_all_orders(self) -> None:
        for number in range(scope.count()):
            self._set_orders(number, scope.state(number))

    def order(self, op: str, state: scope.State = ()) -> list[KernelOp]:
        """The kernels of ``"aten::mm"`` that may run in these scopes, in the order in which they are tried."""
        state = (self.setting, *state)
        known = {id(each.kernel): each for each in self.by_op.get(op, [])}
        kernels = scope.ordered(state, (each.kernel for each in known.values()))
        return [known[id(kernel)] for kernel in kernels if not self.refusal(kernel, state[1:])]

    def refusal(self, kernel: Kernel, state: scope.State = ()) -> str | None:
        """Why the kernel may not run: settings, scopes, or that it has run nowhere yet. None where it may."""
        if why := scope.refusal((self.setting,), kernel):
            return f"{why} (ACCELPLUG_KERNELS)"
        return scope.refusal(state, kernel) or self._untried(kernel, (self.setting, *state))

    def _untried(self, kernel: Kernel, state: scope.State) -> str | None:
        """Nobody gets a kernel by surprise that no device has run: on a real one it has to be asked for."""
        if self.simulated or kernel.ran_on is not RanOn.nothing or scope.asks_for(state, kernel):
            return None
        return (
            f"it has not run on hardware yet and waits to be asked for: ACCELPLUG_KERNELS={kernel.provider}, or "
            f"accelplug.kernels(only={str(kernel)!r})"
        )

    def choices(self, before: Mapping[Any, Choice], state: scope.State) -> dict[Any, Choice]:
        """Entries for a decomposition table: each puts in a kernel that takes the call, else does as ``before``.

        Loads the kernels; those that aren't there are left out.
        """
        found = {}
        for name in self.by_op:
            if kernels := [each for each in self.order(name, state) if each.load()]:
                op = kernels[0].target
                found[op] = _choice(kernels, self.device_type, before.get(op, _whole))
        return found

    def described(self, state: scope.State) -> list[str]:
        """What a graph that was traced with `choices` depends on, for its cache key."""
        lines = []
        for name in sorted(self.by_op):
            for each in self.order(name, state):
                if each.load():
                    kernel = each.kernel
                    functions = (kernel.load, kernel.reference, kernel.fake, kernel.refuses)
                    code = [described(function) for function in functions if function is not None]
                    lines.append("\n".join(["kernel", each.op.name(), *map(str, each.clauses), *code]))
        return lines

    def why_not(self, op: str) -> str:
        """Why no kernel took the eager calls of ``op`` that others ran, "" where it has no kernel."""
        return "; ".join(why for each in self.by_op.get(op, []) if (why := self._why_not(each)))

    def _why_not(self, each: KernelOp) -> str:
        if why := each.unavailable or self.refusal(each.kernel):
            return f"{each.kernel}: {why}"
        count = _counted(each)
        reasons = [f"it takes calls where {clause} ({number:,} were not)" for clause, number in count.refused.items()]
        reasons += [f"{reason} ({number:,} calls)" for reason, number in count.said.items()]
        return f"{each.kernel}: {', '.join(reasons)}" if reasons else ""

    def counts(self) -> list[KernelCount]:
        """What became of the calls so far, for each kernel, eagerly. In graphs nothing is counted here."""
        return [_counted(each) for each in self.all]

    def reset_counts(self) -> None:
        """Begins to count anew."""
        for each in self.all:
            each.said.clear()
            each.offered = Tally()
            if each.number is not None:
                dispatch.ops().reset_counters(each.number)


def _choice(kernels: list[KernelOp], device_type: str, before: Choice) -> Choice:
    schema = kernels[0].schema

    def choose(*args: Any, **kwargs: Any) -> Any:
        arguments = operators.bound(schema, args, kwargs)
        if device_type in _device_types(arguments):
            for each in kernels:
                if each.failing(arguments) is None:
                    return each.op(*args, **kwargs)
        return before(*args, **kwargs)

    return choose


def _whole(*args: Any, **kwargs: Any) -> Any:
    return NotImplemented


def _device_types(arguments: list[Any]) -> set[str]:
    import torch
    from torch.utils._pytree import tree_leaves

    return {leaf.device.type for leaf in tree_leaves(arguments) if isinstance(leaf, torch.Tensor)}


def _counted(made: KernelOp) -> KernelCount:
    calls, asked, unsupported, *failed = (
        dispatch.ops().read_counters(made.number) if made.number is not None else [0] * (3 + len(made.clauses))
    )
    refused = Counter({clause: number for clause, number in zip(made.clauses, failed, strict=True) if number})
    refused += made.offered.refused
    passed_on = asked + unsupported + made.offered.passed_on
    said = Counter(made.said)
    if (in_cpp := passed_on - said.total()) > 0:  # called without Python, which would have kept the words
        said["c10::NotImplementedError"] += in_cpp
    return KernelCount(
        op=made.kernel.op,
        kernel=str(made.kernel),
        calls=calls + made.offered.calls,
        refused={str(clause): number for clause, number in refused.items()},
        passed_on=passed_on,
        said=dict(said),
        unavailable=made.unavailable,
    )


def _setting() -> scope.Rules:
    """The rules of ACCELPLUG_KERNELS; names that no backend has are said once."""
    rules = scope.of_setting(settings.read().values.kernels)
    known = known_names()
    for name in (*rules.disable, *(rules.only or ())):
        if name not in known:
            warn_once(f"ACCELPLUG_KERNELS names {name!r}, which no backend brings{did_you_mean(name, known)}")
    return rules
