"""``accelplug.kernels(...)``: which kernels may run, in a block, a function or a module.

The numbers of scopes are kept in C++, where autograd's threads take them over from the thread that starts a backward
pass. In an ``async`` function a scope must not be open over an ``await``: it belongs to the thread, not to the task.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from accelplug import settings
from accelplug.errors import BadInputError, did_you_mean
from accelplug.specs import Kernel, Level
from accelplug.tables import dispatch
from accelplug.tables.brought import known_names

State = tuple["Rules", ...]


@dataclass(frozen=True)
class Rules:
    """What one scope says. Names are a provider (``"nki"``) or one of its kernels (``"nki/mm_tiled"``).

    ``only`` and ``levels`` are None where everything is admitted; ``order`` are the providers that come first.
    """

    disable: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    levels: tuple[Level, ...] | None = None
    order: tuple[str, ...] = ()

    def refusal(self, kernel: Kernel) -> str | None:
        """Why the kernel may not run, None where it may."""
        names = (kernel.provider, str(kernel))
        if named := [name for name in names if name in self.disable]:
            return f"{named[0]} is switched off"
        if self.only is not None and not any(name in self.only for name in names):
            return f"only {' and '.join(self.only) or 'no kernels'} may run"
        if self.levels is not None and kernel.level not in self.levels:
            return f"only kernels of level {' and '.join(map(str, self.levels))} may run"
        return None


def refusal(state: State, kernel: Kernel) -> str | None:
    """Why the kernel may not run in the scopes of ``state``, None where it may."""
    return next((why for rules in state if (why := rules.refusal(kernel))), None)


def asks_for(state: State, kernel: Kernel) -> bool:
    """Whether one of the scopes names the kernel, or its provider, as one that may run."""
    return any(rules.only is not None and {kernel.provider, str(kernel)} & {*rules.only} for rules in state)


def ordered(state: State, kernels: Iterable[Kernel]) -> list[Kernel]:
    """The kernels in the order in which they are tried: the innermost scope's providers, then by priority and name."""
    first = next((rules.order for rules in reversed(state) if rules.order), ())

    def place(kernel: Kernel) -> tuple[int, int, str, str]:
        rank = first.index(kernel.provider) if kernel.provider in first else len(first)
        return rank, -kernel.priority, kernel.provider, kernel.name

    return sorted(kernels, key=place)


def of_setting(text: str) -> Rules:
    """The rules of ``ACCELPLUG_KERNELS``: "off", names that alone may run, or names with a ``-`` that may not."""
    if text == "off":
        return Rules(only=())
    names = settings.split_names(text)
    disable = tuple(name[1:] for name in names if name.startswith("-"))
    only = tuple(name for name in names if not name.startswith("-"))
    return Rules(disable=disable, only=only or None)


# Which scopes there are, and which one this thread is in.

_lock = threading.RLock()
_states: list[State] = [()]
_followers: list[Callable[[int, State], None]] = []
_python = threading.local()  # the number, where there is no C++ library


def follow(follower: Callable[[int, State], None]) -> None:
    """Calls it for every scope that there is, and from now on for each new one before it is entered."""
    with _lock:
        _followers.append(follower)
        for number, state in enumerate(_states):
            follower(number, state)


def forget_followers() -> None:
    """Nothing follows any longer, as a test that installs backends needs."""
    with _lock:
        _followers.clear()


def current() -> int:
    """The number of the scope that this thread is in, 0 where it is in none."""
    if not dispatch.LIBRARY.loaded:
        return getattr(_python, "number", 0)
    return int(dispatch.ops().current_scope())


def count() -> int:
    """How many scopes there are; their numbers are those below."""
    return len(_states)


def state(number: int) -> State:
    """The rules of a scope, the outer ones first."""
    return _states[number]


def _number(wanted: State) -> int:
    with _lock:
        if wanted not in _states:
            for follower in _followers:
                follower(len(_states), wanted)
            _states.append(wanted)
        return _states.index(wanted)


class Scope(contextlib.ContextDecorator):
    """What `kernels` returns: a context manager, a decorator for functions, and `apply` for modules.

    It can be entered again and again, also inside itself and by several threads.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def __enter__(self) -> Scope:
        number = _number((*state(current()), self.rules))
        if dispatch.available():
            dispatch.ops().enter_scope(number)
        else:
            _python.numbers = [*getattr(_python, "numbers", []), current()]
            _python.number = number
        return self

    def __exit__(self, *error: object) -> None:
        if dispatch.LIBRARY.loaded:
            dispatch.ops().leave_scope()
        else:
            *_python.numbers, _python.number = _python.numbers

    def apply(self, module: Any) -> Any:
        """Makes it hold whenever the ``torch.nn.Module`` is called, in its forward pass; returns the module."""
        module.register_forward_pre_hook(self._before_forward)
        module.register_forward_hook(self._after_forward, always_call=True)
        return module

    def _before_forward(self, module: object, arguments: object) -> None:
        self.__enter__()

    def _after_forward(self, module: object, arguments: object, result: object) -> None:
        self.__exit__()

    def __repr__(self) -> str:
        return f"<accelplug kernels {self.rules}>"


Names = str | Iterable[str]


def kernels(*, disable: Names = (), only: Names | None = None, order: Names = (), level: Names | None = None) -> Scope:
    """A scope in which only some kernels may run; use it in ``with``, as a decorator, or ``.apply(module)``.

    ``disable`` and ``only`` take providers (``"nki"``) or kernels (``"nki/mm_tiled"``), ``order`` providers that are
    tried first, ``level`` the levels that may run: "compiler", "tile" or "isa". Scopes inside others can only
    take away, but for the order, where the innermost holds. Raises BadInputError for a name that no backend has.
    """
    known = known_names()
    return Scope(
        Rules(
            disable=_names(disable, "disable", known),
            only=None if only is None else _names(only, "only", known),
            levels=None if level is None else tuple(map(Level, _names(level, "level", [each.value for each in Level]))),
            order=_names(order, "order", [name for name in known if "/" not in name]),
        )
    )


def _names(given: Names, argument: str, known: Iterable[str]) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(map(str, given))
    known = sorted(known)
    for name in names:
        if name not in known:
            raise BadInputError(
                f"{argument}={name!r}: there is no such kernel or provider{did_you_mean(name, known)}; "
                f"known: {', '.join(known) or 'none'}"
            )
    return names
