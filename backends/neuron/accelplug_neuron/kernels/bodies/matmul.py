"""``a @ b``, summed in float32.

Shapes: a ``[m, k]``, b ``[k, n]``, all multiples of 128; the result ``[m, n]`` has the dtype of a.

The Tensor Engine contracts over the partitions, so a tile of a has to be transposed on the way.
"""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl

from accelplug_neuron.kernels.bodies.rows import share


def tile(a: Any, b: Any) -> Any:
    """Loads, multiplies, adds up in SBUF, stores. ``nl.matmul`` transposes by itself."""
    size, widest = nl.tile_size.pmax, nl.tile_size.gemm_moving_fmax
    m, k = a.shape
    n = b.shape[1]
    result = nl.ndarray((m, n), dtype=a.dtype, buffer=nl.shared_hbm)
    first, end = share(m // size)
    for i in range(first, end):
        for left in range(0, n, widest):
            right = min(left + widest, n)
            total = nl.zeros((size, right - left), dtype=nl.float32)
            for j in range(k // size):
                x = nl.load(a[i * size : (i + 1) * size, j * size : (j + 1) * size])
                y = nl.load(b[j * size : (j + 1) * size, left:right])
                total = nl.add(total, nl.matmul(x, y), dtype=nl.float32)
            nl.store(result[i * size : (i + 1) * size, left:right], nl.copy(total, dtype=a.dtype))
    return result


def isa(a: Any, b: Any) -> Any:
    """Transposes 128 rows of a once, keeps them in SBUF, and adds up in PSUM, where the Tensor Engine writes anyway.

    b is read again for every 128 rows of a. Loads of b alternate between the Sync and the Scalar Engine's queue.
    """
    size, widest = nl.tile_size.pmax, nl.tile_size.gemm_moving_fmax
    m, k = a.shape
    n = b.shape[1]
    result = nl.ndarray((m, n), dtype=a.dtype, buffer=nl.shared_hbm)
    first, end = share(m // size)
    for i in range(first, end):
        turned = _transposed_rows(a, i)
        for left in range(0, n, widest):
            right = min(left + widest, n)
            total = nl.ndarray((size, right - left), dtype=nl.float32, buffer=nl.psum)
            for j in range(k // size):
                y = nl.ndarray((size, right - left), dtype=b.dtype, buffer=nl.sbuf)
                queue = nisa.engine.sync if j % 2 == 0 else nisa.engine.scalar
                nisa.dma_copy(
                    dst=y, src=b[j * size : (j + 1) * size, left:right], dge_mode=nisa.dge_mode.hwdge, engine=queue
                )
                nisa.nc_matmul(dst=total, stationary=turned[:, j * size : (j + 1) * size], moving=y, accumulate=j > 0)
            rounded = nl.ndarray((size, right - left), dtype=a.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=rounded, src=total, engine=nisa.engine.vector)
            nisa.dma_copy(dst=result[i * size : (i + 1) * size, left:right], src=rounded)
    return result


def _transposed_rows(a: Any, i: int) -> Any:
    """Rows ``128 * i`` to ``128 * i + 127`` of a, in SBUF: tile j of k is at columns ``128 * j``, transposed."""
    size = nl.tile_size.pmax
    turned = nl.ndarray((size, a.shape[1]), dtype=a.dtype, buffer=nl.sbuf)
    for j in range(a.shape[1] // size):
        x = nl.ndarray((size, size), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x, src=a[i * size : (i + 1) * size, j * size : (j + 1) * size])
        flipped = nl.ndarray((size, size), dtype=a.dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=flipped, data=x, engine=nisa.engine.tensor)
        nisa.tensor_copy(dst=turned[:, j * size : (j + 1) * size], src=flipped, engine=nisa.engine.vector)
    return turned
