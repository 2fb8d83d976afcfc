"""Softmax of each row, in float32 whatever the tensor is. Shapes: x ``[rows, width]``; the result is like x."""

from __future__ import annotations

from typing import Any

import nki.language as nl

from accelplug_neuron.kernels.bodies.rows import share


def tile(x: Any) -> Any:
    """Loads, computes, stores. Spelled out: which precision ``nl.softmax`` sums in is not documented."""
    rows, width = x.shape
    result = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    first, end = share(rows)
    for start in range(first, end, nl.tile_size.pmax):
        stop = min(start + nl.tile_size.pmax, end)
        values = nl.load(x[start:stop, :], dtype=nl.float32)
        peak = nl.max(values, axis=1, keepdims=True)
        powers = nl.exp(nl.subtract(values, peak.broadcast(1, width), dtype=nl.float32))
        inverse = nl.reciprocal(nl.sum(powers, axis=1, keepdims=True))
        nl.store(result[start:stop, :], nl.multiply(powers, inverse.broadcast(1, width), dtype=x.dtype))
    return result
