"""A fingerprint is the same for the same code, and another one for any other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from accelplug.errors import BackendError
from accelplug.tables.fingerprint import described, fingerprint, name

aten = torch.ops.aten


def made(source: str, **held: object) -> Callable[..., Any]:
    """The function ``f`` of a source without a file, as a notebook has it."""
    namespace: dict[str, Any] = {"__name__": "vendor", **held}
    exec(source, namespace)
    return namespace["f"]


def closure(value: object) -> Callable[..., Any]:
    def scaled(x: torch.Tensor) -> object:
        return x, value

    return scaled


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (made("def f(x): return x * 2"), made("def f(x): return x * 3")),
        (made("def f(x): return x.sin()"), made("def f(x): return x.cos()")),
        (made("def f(x, a=1): return x * a"), made("def f(x, a=2): return x * a")),
        (made("def f(x, *, a=1): return x * a"), made("def f(x, *, a=2): return x * a")),
        (made("f = lambda x: (lambda: x * 2)()"), made("f = lambda x: (lambda: x * 3)()")),
        (made("def f(x): return g(x)\ndef g(x): return x"), made("def f(x): return g(x)\ndef g(x): return -x")),
        (closure(2), closure(3)),
        (closure(torch.float16), closure(torch.float32)),
        (closure(made("def f(x): return x * 2")), closure(made("def f(x): return x * 3"))),
        (closure([1, {"a": aten.sin}]), closure([1, {"a": aten.cos}])),
        (functools.partial(closure(1), 2), functools.partial(closure(1), 3)),
        (functools.partial(closure(1), a=2), functools.partial(closure(1), a=3)),
        (aten.sin.default, aten.cos.default),
    ],
)  # fmt: skip
def test_what_changes_the_result_changes_the_description(one: Callable[..., Any], other: Callable[..., Any]) -> None:
    assert described(one) == described(one)
    assert described(one) != described(other)


def test_equal_functions_made_twice_are_described_alike() -> None:
    source = "def f(x, names={'a': 1}): return x if x in {'p', 'q', 'r'} else -x"
    assert described(made(source)) == described(made(source))
    assert described(closure((1, "a"))) == described(closure((1, "a")))


def test_a_helper_in_the_same_file_counts(tmp_path: Path) -> None:
    def from_file(text: str, version: int) -> Callable[..., Any]:
        path = tmp_path / f"vendor{version}.py"
        path.write_text(text)
        namespace: dict[str, Any] = {"__name__": "vendor"}
        exec(compile(text, str(path), "exec"), namespace)
        return namespace["f"]

    source = "class Scale: by = {}\ndef f(x): return x * Scale.by\n"
    assert described(from_file(source.format(2), 1)) != described(from_file(source.format(3), 2))
    assert described(from_file(source.format(2), 3)) == described(from_file(source.format(2), 4))


def test_a_vendors_function_under_a_decorator_of_torch_is_looked_into() -> None:
    from torch._prims_common.wrappers import out_wrapper

    one = out_wrapper()(made("def f(x: 'Tensor') -> 'Tensor': return x * 2"))
    other = out_wrapper()(made("def f(x: 'Tensor') -> 'Tensor': return x * 3"))
    assert described(one) != described(other)


def test_a_function_of_torch_is_described_by_its_name() -> None:
    assert described(torch._decomp.decompositions.mse_loss).startswith("torch._decomp.decompositions:mse_loss(")


def test_a_function_that_calls_itself_is_described() -> None:
    assert "vendor:f" in described(made("def f(x): return f(x - 1) if x else x"))


class Stateful:
    factor = 2

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor


@pytest.mark.parametrize("function", [Stateful(), closure(Stateful()), closure(torch.ones(1))])
def test_what_no_text_can_stand_for_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(BackendError, match=r"can't be part of a cache key: .* must be a plain function"):
        described(function)


def test_a_name_is_module_and_qualified_name() -> None:
    assert name(test_a_name_is_module_and_qualified_name).endswith(":test_a_name_is_module_and_qualified_name")
    assert name(Stateful()).endswith(":Stateful")


def test_a_fingerprint_depends_on_where_parts_end() -> None:
    assert fingerprint(["ab", "c"]) != fingerprint(["a", "bc"])
    assert len(fingerprint([])) == 32
