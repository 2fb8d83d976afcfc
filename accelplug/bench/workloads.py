"""What is measured: a name, what it has to do at least, and how to make a call of it on a device. Imports torch.

The steps are those of a server: one token of one sequence, one token of each of many, and a prompt.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

Call = Callable[[], Any]


@dataclass(frozen=True)
class Step:
    """A step of a server: ``queries`` new tokens in each of ``sequences``, which then have ``context`` tokens."""

    name: str
    sequences: int
    queries: int
    context: int

    @property
    def tokens(self) -> int:
        return self.sequences * self.queries

    @property
    def keys_seen(self) -> int:
        """By all queries together, where each sees those up to itself."""
        return self.sequences * sum(self.context - later for later in range(self.queries))


MANY = Step("decode, 32 sequences", sequences=32, queries=1, context=512)
STEPS = (
    Step("decode, 1 sequence", sequences=1, queries=1, context=512),
    MANY,
    Step("prefill, 512 tokens", sequences=1, queries=512, context=512),
)
QUICK_STEPS = (MANY,)


@dataclass(frozen=True)
class Place:
    """A device, and the dtype of weights and activations on it. The values are the same on every device."""

    device: torch.device
    dtype: torch.dtype

    def normal(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        """Normally distributed numbers, as small as activations and weights are."""
        return (torch.randn(shape, generator=_seeded()) * 0.1).to(dtype or self.dtype).to(self.device)

    def below(self, high: int, *shape: int) -> Tensor:
        """Whole numbers from 0 to ``high - 1``, in int64."""
        return torch.randint(high, shape, generator=_seeded()).to(self.device)

    def distinct(self, high: int, number: int) -> Tensor:
        """``number`` different ones of the numbers from 0 to ``high - 1``, in int64."""
        return torch.randperm(high, generator=_seeded())[:number].to(self.device)


def _seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@dataclass(frozen=True)
class Workload:
    """One thing to measure: ``call`` on what ``inputs`` puts on a device, which is not measured with it.

    flops, bytes
        What a call has to do at least: floating-point operations, and bytes read and written once each.
    per_step
        How many such calls a step of the model makes.
    """

    step: str
    name: str
    kind: Literal["operator", "layer"]
    per_step: int
    flops: int
    bytes: int
    inputs: Callable[[Place], tuple[Any, ...]]
    call: Callable[..., Any]

    @property
    def key(self) -> tuple[str, str]:
        return self.step, self.name

    def on(self, place: Place) -> Call:
        """The call, with its inputs on the device."""
        return functools.partial(self.call, *self.inputs(place))
