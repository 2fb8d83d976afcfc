"""Rotary embedding in the NeoX layout: the halves of each head are a pair, turned by the token's angles, in float32.

Shapes: x ``[tokens, heads, size]``, cos and sin ``[tokens, size / 2]``; the result is like x.
"""

from __future__ import annotations

from typing import Any

import nki.language as nl

from accelplug_neuron.kernels.bodies.rows import share


def tile(x: Any, cos: Any, sin: Any) -> Any:
    """Loads, computes, stores. A token's angles are loaded once and seen by all of its heads."""
    tokens, heads, size = x.shape
    half = size // 2
    result = nl.ndarray((tokens, heads, size), dtype=x.dtype, buffer=nl.shared_hbm)
    first, end = share(tokens)
    for start in range(first, end, nl.tile_size.pmax):
        stop = min(start + nl.tile_size.pmax, end)
        c = nl.load(cos[start:stop, :], dtype=nl.float32).expand_dim(1).broadcast(1, heads)
        s = nl.load(sin[start:stop, :], dtype=nl.float32).expand_dim(1).broadcast(1, heads)
        left = nl.load(x[start:stop, :, 0:half], dtype=nl.float32)
        right = nl.load(x[start:stop, :, half:size], dtype=nl.float32)
        turned = nl.subtract(
            nl.multiply(left, c, dtype=nl.float32), nl.multiply(right, s, dtype=nl.float32), dtype=x.dtype
        )
        nl.store(result[start:stop, :, 0:half], turned)
        turned = nl.add(nl.multiply(right, c, dtype=nl.float32), nl.multiply(left, s, dtype=nl.float32), dtype=x.dtype)
        nl.store(result[start:stop, :, half:size], turned)
    return result
