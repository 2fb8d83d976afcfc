"""The predicate in Python and the one in C++ refuse the same calls, for the same reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses import FakeTensorMode

from accelplug.errors import BackendError
from accelplug.specs import Kernel, TensorRule
from accelplug.tables import dispatch, predicate

DTYPES = ("float32", "bfloat16", "int64", "bool", "complex64")
SCALARS = (None, True, False, 0, 1, 2, 1.0, 0.5, -1, "a", "tanh", float("inf"))

library = torch.library.Library("predicate_tests", "DEF")
library.define("call(Tensor x, Tensor? y, Tensor?[] more, *, Scalar? number, str? text, bool flag=False) -> Tensor")
library.define("taken(Tensor x, Tensor? y, Tensor?[] more, *, Scalar? number, str? text, bool flag=False) -> Tensor")
for name in ("call", "taken"):
    library.impl(name, lambda x, *args, **kwargs: x.detach(), "CompositeExplicitAutograd")
for key in ("Conjugate", "Negative"):  # as for aten::mm: else PyTorch carries out what is pending before
    library.impl("call", torch.library.fallthrough_kernel, key)
call = torch.ops.predicate_tests.call.default

sizes = st.integers(-1, 6)
dimensions = st.dictionaries(st.integers(-3, 2), st.integers(1, 4), max_size=2)
rules = st.builds(
    TensorRule,
    dtypes=st.lists(st.sampled_from(DTYPES), max_size=3, unique=True).map(tuple),
    ranks=st.lists(st.integers(0, 3), max_size=3, unique=True).map(tuple),
    multiples=dimensions,
    at_least=dimensions,
    at_most=dimensions,
    contiguous=st.booleans(),
    zero_offset=st.booleans(),
)


@st.composite
def tensors(draw: Any) -> torch.Tensor:
    """Real ones of all kinds: any rank to 3, some transposed, some with an offset, some with a conjugation pending."""
    dtype = getattr(torch, draw(st.sampled_from(DTYPES)))
    tensor = torch.zeros(draw(st.lists(st.integers(0, 5), max_size=3)), dtype=dtype)
    if tensor.dim() > 1 and draw(st.booleans()):
        tensor = tensor.transpose(0, -1)
    if tensor.dim() and tensor.size(0) > 1 and draw(st.booleans()):
        tensor = tensor[1:]
    return tensor.conj() if draw(st.booleans()) else tensor


calls = st.tuples(
    tensors(),
    st.none() | tensors(),
    st.lists(st.none() | tensors(), max_size=2),
    st.sampled_from([value for value in SCALARS if not isinstance(value, str)]),
    st.sampled_from([None, "a", "tanh", "none"]),
    st.booleans(),
)
allowed = st.lists(st.sampled_from(SCALARS), max_size=4).map(tuple)


def kernel(accepts: dict[str, TensorRule], values: dict[str, tuple[Any, ...]]) -> Kernel:
    return Kernel(
        op="predicate_tests::call",
        provider="acme",
        name="one",
        level="tile",
        load=lambda: torch.clone,
        reference=torch.clone,
        accepts=accepts,
        values=values,
    )


@pytest.fixture(scope="module")
def table() -> Iterator[int]:
    assert dispatch.available()
    number = dispatch.ops().take_over("predicate_tests::call", "", "CPU")
    yield number
    dispatch.ops().set_order(number, 0, [])


@settings(max_examples=400)
@given(
    accepts=st.dictionaries(st.sampled_from(["x", "y", "more", "*"]), rules, max_size=3),
    values=st.dictionaries(st.sampled_from(["number", "text", "flag"]), allowed, max_size=2),
    arguments=calls,
)
def test_both_refuse_the_same_calls_at_the_same_clause(table: int, accepts: Any, values: Any, arguments: Any) -> None:
    clauses = predicate.clauses(kernel(accepts, values), call._schema)
    refused = predicate.failing(clauses, arguments)

    ops = dispatch.ops()
    number = ops.add_kernel("predicate_tests::taken", "", "", *predicate.encoded(clauses))
    ops.set_order(table, 0, [number])
    with torch.inference_mode():
        call(*arguments[:3], number=arguments[3], text=arguments[4], flag=arguments[5])
    taken, _, _, *failed = ops.read_counters(number)

    expected = [int(refused is not None and clause is refused[0]) for clause in clauses]
    assert (taken, failed) == (int(refused is None), expected)


@settings(max_examples=100)
@given(accepts=st.dictionaries(st.sampled_from(["x", "*"]), rules, max_size=2), tensor=tensors())
def test_tensors_without_data_are_refused_as_real_ones(accepts: Any, tensor: torch.Tensor) -> None:
    clauses = predicate.clauses(kernel(accepts, {}), call._schema)
    arguments = [tensor, None, [], None, None, False]
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(tensor)
    assert predicate.failing(clauses, [fake, *arguments[1:]]) == predicate.failing(clauses, arguments)


@pytest.mark.parametrize(
    ("rule", "tensor", "clause", "got"),
    [
        ({"dtypes": ("half",)}, torch.zeros(2), "x is float16", "float32"),
        ({"ranks": (2, 3)}, torch.zeros(2), "x has a number of dimensions of 2 or 3", "shape (2,)"),
        ({"multiples": {-1: 128}}, torch.zeros(4, 2), "x has a dimension -1 of a multiple of 128", "shape (4, 2)"),
        ({"at_least": {1: 8}}, torch.zeros(4, 2), "x has a dimension 1 of at least 8", "shape (4, 2)"),
        ({"at_most": {0: 3}}, torch.zeros(()), "x has a dimension 0 of at most 3", "shape ()"),
        ({"contiguous": True}, torch.zeros(4, 2).t(), "x is contiguous", "strides (1, 2) and offset 0"),
        ({"zero_offset": True}, torch.zeros(4)[1:], "x starts where its memory does", "strides (1,) and offset 1"),
    ],
)
def test_a_refusal_says_what_was_asked_and_what_came(
    rule: dict[str, Any], tensor: torch.Tensor, clause: str, got: str
) -> None:
    clauses = predicate.clauses(kernel({"x": TensorRule(**rule)}, {}), call._schema)
    refused = predicate.failing(clauses, [tensor, None, [], None, None, False])
    assert refused is not None
    assert (str(refused[0]), refused[1]) == (clause, got)


@pytest.mark.parametrize(
    ("accepts", "values", "message"),
    [
        ({"z": TensorRule()}, {}, "has no argument 'z'; it has: x, y, more, number, text, flag"),
        ({"mroe": TensorRule()}, {}, "has no argument 'mroe'; did you mean 'more'"),
        ({}, {"*": (1,)}, r"has no argument '\*'"),
        ({"number": TensorRule()}, {}, "'number' of predicate_tests::call isn't a tensor; use `values`"),
        ({}, {"x": (1,)}, "'x' of predicate_tests::call is a tensor; use `accepts`"),
        ({"x": TensorRule(dtypes=("float33",))}, {}, "'float33' in the dtypes of 'x' is no dtype of torch's"),
        ({"x": TensorRule(ranks=(63,))}, {}, "ranks of 'x' are 0 to 62"),
    ],
)
def test_what_no_call_could_meet_is_refused(accepts: Any, values: Any, message: str) -> None:
    with pytest.raises(BackendError, match=f"kernel acme/one: .*{message}"):
        predicate.clauses(kernel(accepts, values), call._schema)
