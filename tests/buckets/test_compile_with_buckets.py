"""``accelplug.compile(model, buckets=...)``: one compilation a bucket, the model's results, refusals with reasons."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any, NamedTuple

import pytest
import torch

import accelplug
from accelplug import Buckets
from accelplug.errors import BadInputError, CompileRefusedError, ShapeRefusedError

Graphs = list[Any]


class Tagger(torch.nn.Module):
    """Gives each token a score, and each text their mean over the tokens that the mask lets through."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = torch.nn.Embedding(11, 4)

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, scale: float = 1.0
    ) -> dict[str, torch.Tensor]:
        scores = self.embedding(input_ids).sum(-1) * attention_mask * scale
        return {"scores": scores, "mean": scores.sum(1) / attention_mask.sum(1)}


def tagger_buckets(**changes: Any) -> Buckets:
    parts: dict[str, Any] = {
        "ladders": {"length": "pow2:4..16"},
        "arguments": {"input_ids": {1: "length"}, "attention_mask": {1: "length"}},
        "fill": {"input_ids": 0, "attention_mask": 0},
        "outputs": {"scores": {1: "length"}, "mean": {}},
    }
    return Buckets(**{**parts, **changes})


def texts(length: int, count: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.arange(count * length).view(count, length) % 11, torch.ones(count, length)


def one_dimension(**changes: Any) -> Buckets:
    parts: dict[str, Any] = {
        "ladders": {"length": (4, 8)},
        "arguments": {"x": {0: "length"}},
        "fill": {"x": 0},
        "outputs": {"": {0: "length"}},
    }
    return Buckets(**{**parts, **changes})


def test_all_lengths_give_the_models_results_with_one_compilation_a_bucket(compiled_graphs: Graphs) -> None:
    model = Tagger()
    compiled = accelplug.compile(model, buckets=tagger_buckets(), fullgraph=True)
    for length in range(1, 17):
        ids, mask = texts(length)
        torch.testing.assert_close(compiled(ids, attention_mask=mask), model(ids, mask))
    assert len(compiled_graphs) == 3
    used = compiled.usage.snapshot()
    assert used.hits == {"4": 4, "8": 4, "16": 8}
    assert used.compiles == 3
    assert used.padding == sum(size - n for n, size in zip(range(1, 17), [4] * 4 + [8] * 4 + [16] * 8, strict=True))


def test_more_buckets_than_torchs_recompile_limit_are_compiled(compiled_graphs: Graphs) -> None:
    compiled = accelplug.compile(lambda x: x + 1, buckets=one_dimension(ladders={"length": range(1, 13)}))
    assert [compiled(torch.zeros(n)).sum().item() for n in range(1, 13)] == [*range(1, 13)]
    assert len(compiled_graphs) == 12 > torch._dynamo.config.recompile_limit


def test_warm_up_compiles_the_plan_and_after_it_nothing(compiled_graphs: Graphs) -> None:
    compiled = accelplug.compile(Tagger(), buckets=tagger_buckets())
    compiled.warm_up(*texts(5))
    assert len(compiled_graphs) == len(compiled.plan.shapes) == 3
    with compiled.no_more_compiles():
        for length in range(1, 17):
            compiled(*texts(length))
        with torch.no_grad(), pytest.raises(ShapeRefusedError, match=r"length=4 .*its shape was warmed up.*grad_mode"):
            compiled(*texts(3))
    assert compiled.usage.snapshot().compiles_in_service == 0
    with torch.no_grad():
        compiled(*texts(3))
    assert compiled.usage.snapshot().compiles_in_service == 1


def test_strides_make_no_second_graph(compiled_graphs: Graphs) -> None:
    compiled = accelplug.compile(lambda x: x * 2, buckets=one_dimension())
    for x in (torch.ones(4, 3), torch.ones(3, 4).t(), torch.ones(8, 3)[::2]):
        assert torch.equal(compiled(x), x * 2)
    assert len(compiled_graphs) == 1


def test_gradients_pass_through_the_padding(compiled_graphs: Graphs) -> None:
    model, (ids, mask) = Tagger(), texts(5)
    compiled = accelplug.compile(model, buckets=tagger_buckets())
    weight = model.embedding.weight
    (got,) = torch.autograd.grad(compiled(ids, mask)["scores"].square().sum(), weight)
    (want,) = torch.autograd.grad(model(ids, mask)["scores"].square().sum(), weight)
    torch.testing.assert_close(got, want)


def test_two_axes_make_a_grid(compiled_graphs: Graphs) -> None:
    buckets = one_dimension(
        ladders={"rows": (2, 4), "columns": (3, 6)},
        arguments={"x": {0: "rows", -1: "columns"}},
        outputs={"": {0: "rows", 1: "columns"}},
    )
    compiled = accelplug.compile(lambda x: x * 2, buckets=buckets)
    for rows in range(1, 5):
        for columns in range(1, 7):
            assert torch.equal(compiled(torch.ones(rows, columns)), torch.full((rows, columns), 2.0))
    assert len(compiled_graphs) == 4


def test_arguments_by_keyword_only_are_padded_too(compiled_graphs: Graphs) -> None:
    compiled = accelplug.compile(lambda **given: given["x"] * given["y"], buckets=one_dimension())
    assert compiled(x=torch.ones(3), y=torch.ones(1)).shape == (3,)
    assert compiled(x=torch.ones(6), y=torch.ones(1)).shape == (6,)
    with pytest.raises(ShapeRefusedError, match=r"argument 'y' was \(1\).* and is \(2\)"):
        compiled(x=torch.ones(3), y=torch.ones(2))


class Pair(NamedTuple):
    x: torch.Tensor
    rest: list[torch.Tensor]


@dataclasses.dataclass
class Answer:
    pair: Pair
    note: str
    other: Any = None


def test_nested_outputs_are_cut_back_and_keep_their_types(compiled_graphs: Graphs) -> None:
    def model(x: torch.Tensor) -> tuple[Answer, torch.Tensor]:
        return Answer(Pair(x + 1, [x * 2, x.sum()]), "hello"), x

    outputs = {"0.pair": {0: "length"}, "0.pair.rest.1": {}, "1": {0: "length"}}
    compiled = accelplug.compile(model, buckets=one_dimension(outputs=outputs))
    answer, same = compiled(torch.ones(3))
    assert isinstance(answer, Answer)
    assert isinstance(answer.pair, Pair)
    assert [part.shape for part in (answer.pair.x, answer.pair.rest[0], answer.pair.rest[1], same)] == [
        (3,),
        (3,),
        (),
        (3,),
    ]
    assert (answer.note, answer.other) == ("hello", None)


def test_it_is_a_decorator_and_stays_the_model_for_all_else(compiled_graphs: Graphs) -> None:
    @accelplug.compile(buckets=one_dimension())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    assert double(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert double.__name__ == "double"
    assert copy.copy(double)(torch.ones(2)).tolist() == [2.0, 2.0]
    assert accelplug.compile(Tagger(), buckets=tagger_buckets()).eval().training is False


# refusals


def test_a_length_above_the_largest_bucket_is_refused_with_the_limit(compiled_graphs: Graphs) -> None:
    """Case C24."""
    compiled = accelplug.compile(Tagger(), buckets=tagger_buckets())
    with pytest.raises(CompileRefusedError, match="length 17 is above the largest bucket, 16; buckets: 4,8,16"):
        compiled(*texts(17))
    assert compiled_graphs == []


def test_a_dimension_without_a_ladder_must_not_change(compiled_graphs: Graphs) -> None:
    compiled = accelplug.compile(Tagger(), buckets=tagger_buckets())
    compiled(*texts(3, count=2))
    said = r"'input_ids' was \(2, length\) torch.int64 on cpu in the first call and is \(3, length\)"
    with pytest.raises(ShapeRefusedError, match=said):
        compiled(*texts(3, count=3))
    assert len(compiled_graphs) == 1


def test_a_refused_call_fixes_nothing(compiled_graphs: Graphs) -> None:
    compiled = accelplug.compile(Tagger(), buckets=tagger_buckets())
    with pytest.raises(ShapeRefusedError):
        compiled(*texts(17, count=3))
    assert compiled(*texts(3, count=2))["scores"].shape == (2, 3)


def test_dimensions_of_one_axis_have_one_length(compiled_graphs: Graphs) -> None:
    compiled = accelplug.compile(Tagger(), buckets=tagger_buckets())
    with pytest.raises(BadInputError, match="'length' is 3 in 'input_ids' and 4 in 'attention_mask'"):
        compiled(texts(3)[0], texts(4)[1])


def test_an_axis_that_no_argument_has_in_a_call_is_said(compiled_graphs: Graphs) -> None:
    compiled = accelplug.compile(lambda x=None: torch.ones(3), buckets=one_dimension())
    with pytest.raises(BadInputError, match="no argument in this call has the axis 'length'"):
        compiled()


def test_an_argument_without_the_dimension_is_said(compiled_graphs: Graphs) -> None:
    compiled = accelplug.compile(lambda x: x, buckets=one_dimension(arguments={"x": {2: "length"}}))
    with pytest.raises(BadInputError, match=r"'x' has no dimension 2; it is of shape \(3,\)"):
        compiled(torch.ones(3))
    with pytest.raises(BadInputError, match="'x' has no dimension 2; it is of type int"):
        compiled(3)


def test_an_output_that_nobody_named_is_an_error_rather_than_a_guess(compiled_graphs: Graphs) -> None:
    compiled = accelplug.compile(Tagger(), buckets=tagger_buckets(outputs={"scores": {1: "length"}}))
    with pytest.raises(BadInputError, match=r"output 'mean' of shape \(2,\) isn't named in outputs"):
        compiled(*texts(4))


def test_an_output_of_another_size_than_the_buckets_is_an_error(compiled_graphs: Graphs) -> None:
    compiled = accelplug.compile(lambda x: x[1:], buckets=one_dimension())
    with pytest.raises(BadInputError, match=r"shape \(3,\): its dimension 0 isn't 'length', which was padded to 4"):
        compiled(torch.ones(3))


def test_an_output_in_which_no_tensors_can_be_found_is_an_error_unless_it_is_named() -> None:
    from accelplug.buckets.outputs import cut_back

    with pytest.raises(BadInputError, match=r"output 'cache' is of type object, .* name it in outputs: {'cache': {}}"):
        cut_back({"cache": object()}, {}, {}, {})
    cache = object()
    assert cut_back({"cache": cache}, {"cache": {}}, {}, {})["cache"] is cache


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"arguments": {"x": {0: "lenght"}}}, "axis 'lenght', which has no ladder; did you mean 'length'"),
        ({"outputs": {"": {0: "lenght"}}}, "axis 'lenght', which has no argument; did you mean 'length'"),
        ({"ladders": {"length": (4,), "batch": (2,)}}, "no argument has the axis 'batch'"),
        ({"fill": {}}, "only one of them has: x"),
        ({"fill": {"x": 0, "y": 0}}, "only one of them has: y"),
        ({"ladders": {"length": "pow2:4.."}}, "have no end"),
        ({"ladders": {"length": 4}}, "4 is no ladder"),
        ({"ladders": {"length": (8, 4)}}, "ascending order"),
    ],
)
def test_buckets_that_make_no_sense_are_said(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        one_dimension(**changes)


def test_an_argument_that_the_model_does_not_have_is_said(compiled_graphs: Graphs) -> None:
    buckets = tagger_buckets(arguments={"input_idz": {1: "length"}}, fill={"input_idz": 0})
    with pytest.raises(BadInputError, match="no argument 'input_idz'; did you mean 'input_ids'"):
        accelplug.compile(Tagger(), buckets=buckets)


def test_dynamic_shapes_and_buckets_are_refused(compiled_graphs: Graphs) -> None:
    with pytest.raises(CompileRefusedError, match="dynamic=True and buckets"):
        accelplug.compile(Tagger(), dynamic=True, buckets=tagger_buckets())


def test_more_shapes_than_torch_can_hold_are_refused(compiled_graphs: Graphs) -> None:
    with pytest.raises(CompileRefusedError, match="300 shapes, and torch holds 256 graphs"):
        accelplug.compile(lambda x: x, buckets=one_dimension(ladders={"length": range(1, 301)}))


def test_a_torch_that_cannot_do_it_is_named(compiled_graphs: Graphs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda model, **arguments: model)
    monkeypatch.setattr("inspect.signature", lambda function: type("Old", (), {"parameters": {}}))
    with pytest.raises(CompileRefusedError, match=r"use torch 2\.13 or later"):
        accelplug.compile(lambda x: x, buckets=one_dimension())
