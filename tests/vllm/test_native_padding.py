"""What the model computes logits for is padded to a bucket, and nobody notices."""

from __future__ import annotations

import pytest
import torch
from accelplug_vllm.native.padding import pad_logits
from accelplug_vllm.native.shapes import Shapes

from accelplug.buckets import Ladder
from accelplug.errors import ShapeRefusedError

SHAPES = Shapes(tokens=Ladder((16, 64)), sequences=Ladder((1, 2, 4, 8)), keys=Ladder((64,)))


class Head(torch.nn.Module):
    """The last layer of a model, which remembers the numbers of rows it was given."""

    def __init__(self, on_this_worker: bool = True) -> None:
        super().__init__()
        self.rows: list[int] = []
        self.weight = torch.nn.Parameter(torch.randn(6, 32, generator=torch.Generator().manual_seed(0)))
        self._on_this_worker = on_this_worker

    def compute_logits(self, hidden_states: torch.Tensor) -> torch.Tensor | None:
        self.rows.append(len(hidden_states))
        return hidden_states @ self.weight if self._on_this_worker else None


def test_rows_are_those_of_a_bucket_and_results_are_the_same() -> None:
    plain, padded = Head(), Head()
    pad_logits(padded, SHAPES)
    for rows in (1, 3, 8, 9, 40):
        hidden = torch.randn(rows, 6)
        torch.testing.assert_close(padded.compute_logits(hidden), plain.compute_logits(hidden))
    assert padded.rows == [1, 4, 8, 16, 64], "above the requests of a step they are tokens of prompts"


def test_more_rows_than_a_step_has_are_refused() -> None:
    head = Head()
    pad_logits(head, SHAPES)
    with pytest.raises(ShapeRefusedError, match="number of tokens to compute logits for 65 is above the largest"):
        head.compute_logits(torch.randn(65, 6))


def test_a_worker_without_logits_and_a_model_without_them_stay_so() -> None:
    head = Head(on_this_worker=False)
    pad_logits(head, SHAPES)
    assert head.compute_logits(torch.randn(3, 6)) is None
    without = torch.nn.Linear(2, 2)
    pad_logits(without, SHAPES)
    assert not hasattr(without, "compute_logits")
