"""The paged KV cache: what is written to it and laid out from it.

vLLM hands out a view [blocks, heads, tokens of a block, content], whatever its order in memory; content is a token's
key, then its value. A slot is a token's place in it: block * tokens of a block + place in the block.
"""

from __future__ import annotations

import torch


class Space:
    """Memory that the pieces and layers of a step take in turn: what is laid out isn't needed when the next one is."""

    def __init__(self) -> None:
        self._memory: torch.Tensor | None = None

    def of(self, like: torch.Tensor, rows: int) -> torch.Tensor:
        """``rows`` rows like those of ``like``; what they hold is whatever was there."""
        elements = rows * like.shape[1]
        if self._memory is None or self._memory.numel() < elements or self._memory.dtype != like.dtype:
            self._memory = like.new_empty(elements)
        return self._memory[:elements].view(rows, -1)


def write(cache: torch.Tensor, key: torch.Tensor, value: torch.Tensor, slots: torch.Tensor) -> None:
    """Puts ``key`` and ``value`` [tokens, heads, size] in their ``slots`` [tokens].

    Tokens whose slot is -1 are padding. They go to the first block, which vLLM never gives to a request: leaving them
    out would make the shape depend on values.
    """
    count = slots.shape[0]
    content = torch.cat((key[:count], value[:count]), -1).to(cache.dtype)
    slots = slots.clamp(min=0)
    by_token = cache.transpose(1, 2)
    if by_token.is_contiguous():
        by_token.view(-1, *by_token.shape[2:]).index_copy_(0, slots, content)
    else:
        size = cache.shape[2]
        cache[slots // size, :, slots % size] = content


def lay_out(cache: torch.Tensor, slots: torch.Tensor, space: Space) -> torch.Tensor:
    """The contents of ``slots`` [requests, keys] as [requests, heads, keys, content], in ``space`` where it can be."""
    by_token = cache.transpose(1, 2)
    if by_token.is_contiguous():
        tokens = by_token.view(-1, by_token.shape[2] * by_token.shape[3])
        out = space.of(tokens, slots.numel())
        content = torch.index_select(tokens, 0, slots.reshape(-1), out=out).view(*slots.shape, *by_token.shape[2:])
    else:
        size = cache.shape[2]
        content = cache[slots // size, :, slots % size]
    return content.transpose(1, 2)
