"""A request with a seed draws the same, in however many steps its prompt is run."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from accelplug_vllm.native import seeds


class Runner:
    """As vLLM's, with requests in two rows: one draw for each, from its own generator or everybody's."""

    def __init__(self) -> None:
        self.everybodys = torch.Generator().manual_seed(99)
        self.own = torch.Generator().manual_seed(7)
        self.discard_request_mask = SimpleNamespace(np=np.array([False, False, True]))  # the last is of an older batch
        self.input_batch = SimpleNamespace(num_reqs=2, generators={1: self.own})

    def sample_tokens(self, grammar_output: object) -> list[float]:
        if grammar_output == "broken":
            raise ValueError("no such grammar")
        of_row = self.input_batch.generators
        drawn = [torch.rand(1, generator=of_row.get(row, self.everybodys)).item() for row in range(2)]
        for row in np.flatnonzero(self.discard_request_mask.np[:2]):
            if row in of_row:
                of_row[row].set_offset(of_row[row].get_offset() - 4)  # fails, as the CPU's generator can't
        return drawn


@pytest.fixture
def runner() -> Runner:
    runner = Runner()
    seeds.install(runner)
    return runner


def test_what_is_thrown_away_is_not_drawn_from_its_generator(runner: Runner) -> None:
    expected = torch.rand(1, generator=torch.Generator().manual_seed(7)).item()
    runner.discard_request_mask.np[1] = True
    assert runner.sample_tokens(None)[1] != expected
    runner.discard_request_mask.np[1] = False
    assert runner.sample_tokens(None)[1] == expected, "the first that counts is its generator's first"


def test_the_request_keeps_its_generator_when_a_step_fails(runner: Runner) -> None:
    runner.discard_request_mask.np[1] = True
    with pytest.raises(ValueError, match="no such grammar"):
        runner.sample_tokens("broken")
    assert runner.input_batch.generators == {1: runner.own}
