"""The vendors' decompositions: the operator is gone from the graph, and the numbers are those it would have given."""

from __future__ import annotations

import functools
import importlib
import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from accelplug.tables.decompositions import Table, build

aten = torch.ops.aten


@functools.cache
def table(vendor: str) -> Table:
    changes = importlib.import_module(f"{vendor}.decompositions").decompositions()
    return build("cpu", changes, origin=vendor)


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def check(vendor: str, op: Any, *args: Any, **kwargs: Any) -> None:
    """Traces a call of ``op`` with the vendor's table, and compares the graph's results with the operator's own."""
    tensors = [value for value in args if isinstance(value, torch.Tensor)]

    def call(*tensors: torch.Tensor) -> Any:
        given = iter(tensors)
        return op(*(next(given) if isinstance(value, torch.Tensor) else value for value in args), **kwargs)

    graph = make_fx(call, decomposition_table=table(vendor), tracing_mode="fake")(*tensors)
    assert op not in {node.target for node in graph.graph.nodes}
    got, expected = graph(*tensors), op(*args, **kwargs)
    torch.testing.assert_close(got, expected, equal_nan=True)
    assert [t.stride() for t in flat(got)] == [t.stride() for t in flat(expected)]


def flat(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else list(value)


# spyre


@pytest.mark.parametrize("op", [aten.gt.Tensor, aten.lt.Tensor])
def test_spyre_comparisons_of_tensors(op: Any) -> None:
    edges = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0])
    check("accelplug_spyre", op, edges[:, None], edges)
    check("accelplug_spyre", op, torch.arange(4), torch.tensor([1.5, 2.0, 2.5, 3.0]))


@pytest.mark.parametrize(("op", "limit"), [*itertools.product([aten.gt.Scalar, aten.lt.Scalar], [0, 1.5, math.inf])])
def test_spyre_comparisons_with_numbers(op: Any, limit: float) -> None:
    check("accelplug_spyre", op, torch.tensor([math.nan, math.inf, -math.inf, 0.0, 1.5, 2.0]), limit)
    check("accelplug_spyre", op, torch.arange(-2, 3), limit)


def test_spyre_keeps_matrix_products_and_triangles_whole() -> None:
    wide, tall = numbers(3, 1), numbers(1, 3)

    def f(wide: torch.Tensor, tall: torch.Tensor) -> torch.Tensor:
        return torch.bmm(wide[None], tall[None])[0].triu() + torch.mm(wide, tall).tril()

    graph = make_fx(f, decomposition_table=table("accelplug_spyre"), tracing_mode="fake")(wide, tall)
    targets = {node.target for node in graph.graph.nodes}
    assert targets >= {aten.mm.default, aten.bmm.default, aten.triu.default, aten.tril.default}
    torch.testing.assert_close(graph(wide, tall), f(wide, tall))


# neuron


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(
    ("shape", "k", "dim"), [((7,), 3, -1), ((3, 5), 2, 0), ((3, 5), 5, 1), ((), 1, -1), ((4,), 0, 0)]
)
def test_neuron_topk(shape: tuple[int, ...], k: int, dim: int, largest: bool) -> None:
    check("accelplug_neuron", aten.topk.default, numbers(*shape), k, dim, largest)


@pytest.mark.parametrize(
    ("x", "dim", "index", "source"),
    [
        (numbers(5), 0, torch.tensor([3, 0]), numbers(2)),
        (numbers(5, 3), 0, torch.tensor([4, 1]), numbers(2, 3)),
        (numbers(2, 5, 3), -2, torch.tensor([4, 1, 0]), numbers(2, 3, 3)),
        (numbers(5), 0, torch.tensor(3), torch.tensor(7.0)),
        (torch.tensor(1.0), 0, torch.tensor(0), torch.tensor(7.0)),
        (numbers(5, 3), 1, torch.tensor([], dtype=torch.int64), numbers(5, 0)),
    ],
)
def test_neuron_index_copy(x: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor) -> None:
    check("accelplug_neuron", aten.index_copy.default, x, dim, index, source)


@pytest.mark.parametrize("size", [0, 2, 3, 6])
@pytest.mark.parametrize(
    "x",
    [
        torch.tensor([[0, 2, 0], [4, 0, 6]]),
        torch.tensor([0.0, math.nan, 1.0, 2.0]),
        torch.tensor([True, False, True]),
        torch.zeros(2, 3),
        torch.tensor(5),
        torch.zeros(0, 3),
    ],
)
def test_neuron_nonzero_static(x: torch.Tensor, size: int) -> None:
    check("accelplug_neuron", aten.nonzero_static.default, x, size=size)
    check("accelplug_neuron", aten.nonzero_static.default, x, size=size, fill_value=9)


@pytest.mark.parametrize("order", [2, 1, 0, 3, -1, 0.5, math.inf, -math.inf])
@pytest.mark.parametrize(("dim", "keepdim"), [(None, False), ([1], True), ([0, 1], False), ([-1], False)])
def test_neuron_vector_norm(order: float, dim: list[int] | None, keepdim: bool) -> None:
    check("accelplug_neuron", aten.linalg_vector_norm.default, numbers(3, 4), order, dim, keepdim)


def test_neuron_vector_norm_of_other_dtypes() -> None:
    for x in (numbers(3, 4).half(), numbers(3, 4).double(), torch.complex(numbers(4), numbers(4)), numbers(0, 4)):
        check("accelplug_neuron", aten.linalg_vector_norm.default, x)
    check("accelplug_neuron", aten.linalg_vector_norm.default, numbers(3, 4), 2, [1], dtype=torch.float64)
    check("accelplug_neuron", aten.linalg_vector_norm.default, torch.tensor(-2.0))


@pytest.mark.parametrize("value", [2, 2.5, True])
@pytest.mark.parametrize("dtype", [None, torch.int32, torch.float16])
def test_neuron_scalar_tensor(value: float, dtype: torch.dtype | None) -> None:
    check("accelplug_neuron", aten.scalar_tensor.default, value, dtype=dtype)


def test_neuron_sigmoid_backward() -> None:
    check("accelplug_neuron", aten.sigmoid_backward.default, numbers(3, 4), numbers(3, 4).sigmoid())
    z = torch.complex(numbers(4), numbers(4) + 1)
    check("accelplug_neuron", aten.sigmoid_backward.default, z, z.sigmoid())


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (4,)])
def test_neuron_linear_backward(shape: tuple[int, ...]) -> None:
    """No CPU kernel has this operator; autograd knows the gradients."""
    x, weight, bias = numbers(*shape), numbers(5, 4), numbers(5)
    for tensor in (x, weight, bias):
        tensor.requires_grad_()
    result = torch.nn.functional.linear(x, weight, bias)
    gradient = torch.ones_like(result)
    linear_backward = table("accelplug_neuron")[aten.linear_backward.default]

    got = linear_backward(x, gradient, weight, [True, True, True])
    torch.testing.assert_close(got, torch.autograd.grad(result, (x, weight, bias), gradient))
    assert linear_backward(x, gradient, weight, [False, False, False]) == (None, None, None)


MASKS: dict[str, Callable[[], torch.Tensor | None]] = {
    "none": lambda: None,
    "additive": lambda: numbers(2, 4, 3, 5),
    "boolean": lambda: numbers(2, 1, 3, 5) > 0,
    "nothing to attend to": lambda: torch.zeros(3, 5, dtype=torch.bool),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_neuron_attention(mask: str, kv_heads: int) -> None:
    """The operator is for devices that override it; PyTorch's attention in plain operators is the reference."""
    query, key, value = numbers(2, 4, 3, 8), numbers(2, kv_heads, 5, 8), numbers(2, kv_heads, 5, 6)
    bias = MASKS[mask]()

    attention = table("accelplug_neuron")[aten._scaled_dot_product_fused_attention_overrideable.default]

    got = attention(query, key, value, bias)
    expected = math_attention(query, key, value, bias, enable_gqa=kv_heads != 4)
    torch.testing.assert_close(got[0], expected)
    assert (got[1].shape, got[1].dtype, got[4:6]) == ((2, 4, 3), torch.float32, (3, 5))


@pytest.mark.parametrize("scale", [None, 0.5])
def test_neuron_causal_attention(scale: float | None) -> None:
    query, key, value = numbers(2, 4, 3, 8), numbers(2, 4, 5, 8), numbers(2, 4, 5, 6)
    attention = table("accelplug_neuron")[aten._scaled_dot_product_fused_attention_overrideable.default]

    result, logsumexp, *_ = attention(query, key, value, is_causal=True, scale=scale)
    torch.testing.assert_close(result, math_attention(query, key, value, is_causal=True, scale=scale))
    first = (query[:, :, 0] * key[:, :, 0]).sum(-1) * (scale or 8**-0.5)  # the first row sees one key only
    torch.testing.assert_close(logsumexp[:, :, 0], first)
    assert attention(query, key, value, dropout_p=0.1) is NotImplemented


def math_attention(*args: Any, **kwargs: Any) -> torch.Tensor:
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return torch.nn.functional.scaled_dot_product_attention(*args, **kwargs)
