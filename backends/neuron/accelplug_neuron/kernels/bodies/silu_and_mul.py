"""``silu(gate) * up``, where the halves of each row are gate and up, in float32 whatever the tensor is.

Shapes: x ``[rows, 2 * width]``, the result ``[rows, width]``.
"""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl

from accelplug_neuron.kernels.bodies.rows import share

COLUMNS = 2048  # of a tile: long enough for a DMA to be efficient, short enough for several tiles at once


def tile(x: Any) -> Any:
    """Loads, computes, stores: on which engines is the compiler's choice."""
    rows, width = x.shape[0], x.shape[1] // 2
    result = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    first, end = share(rows)
    for start in range(first, end, nl.tile_size.pmax):
        stop = min(start + nl.tile_size.pmax, end)
        for left in range(0, width, COLUMNS):
            right = min(left + COLUMNS, width)
            gate = nl.load(x[start:stop, left:right], dtype=nl.float32)
            up = nl.load(x[start:stop, width + left : width + right], dtype=nl.float32)
            nl.store(result[start:stop, left:right], nl.multiply(nl.silu(gate), up, dtype=x.dtype))
    return result


def isa(x: Any) -> Any:
    """The Scalar Engine has SiLU, the Vector Engine multiplies; the Sync Engine issues both loads."""
    rows, width = x.shape[0], x.shape[1] // 2
    result = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    first, end = share(rows)
    for start in range(first, end, nl.tile_size.pmax):
        stop = min(start + nl.tile_size.pmax, end)
        for left in range(0, width, COLUMNS):
            right = min(left + COLUMNS, width)
            shape = (stop - start, right - left)
            gate = nl.ndarray(shape, dtype=x.dtype, buffer=nl.sbuf)
            up = nl.ndarray(shape, dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(
                dst=gate, src=x[start:stop, left:right], dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.sync
            )
            nisa.dma_copy(
                dst=up,
                src=x[start:stop, width + left : width + right],
                dge_mode=nisa.dge_mode.hwdge,
                engine=nisa.engine.sync,
            )
            activated = nl.ndarray(shape, dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=activated, op=nl.silu, data=gate)
            nisa.tensor_tensor(dst=up, data1=activated, data2=up, op=nl.multiply, engine=nisa.engine.vector)
            nisa.dma_copy(
                dst=result[start:stop, left:right], src=up, dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.sync
            )
    return result
