"""RMSNorm of each row: ``x / sqrt(mean(x²) + eps) * weight``, in float32 whatever the tensors are.

Shapes: x ``[rows, hidden]``, weight ``[hidden]``; the result is like x.
"""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl

from accelplug_neuron.kernels.bodies.rows import share


def tile(x: Any, weight: Any, eps: float) -> Any:
    """Loads, computes, stores: on which engines is the compiler's choice."""
    rows, hidden = x.shape
    result = nl.ndarray((rows, hidden), dtype=x.dtype, buffer=nl.shared_hbm)
    gain = nl.load(weight.reshape((1, hidden)).broadcast(0, nl.tile_size.pmax), dtype=nl.float32)
    first, end = share(rows)
    for start in range(first, end, nl.tile_size.pmax):
        stop = min(start + nl.tile_size.pmax, end)
        values = nl.load(x[start:stop, :], dtype=nl.float32)
        mean = nl.mean(nl.square(values), axis=1, keepdims=True)
        scale = nl.rsqrt(nl.add(mean, eps, dtype=nl.float32))
        normed = nl.multiply(values, scale.broadcast(1, hidden), dtype=nl.float32)
        nl.store(result[start:stop, :], nl.multiply(normed, gain[0 : stop - start, :], dtype=x.dtype))
    return result


def isa(x: Any, weight: Any, eps: float) -> Any:
    """Squares and sums a row in one instruction of the Scalar Engine; the Vector Engine scales.

    Loads are issued by the Sync Engine, so that they don't wait for the Scalar Engine's instructions.
    """
    rows, hidden = x.shape
    result = nl.ndarray((rows, hidden), dtype=x.dtype, buffer=nl.shared_hbm)
    gain = nl.ndarray((nl.tile_size.pmax, hidden), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=gain, src=weight.reshape((1, hidden)).broadcast(0, nl.tile_size.pmax))
    first, end = share(rows)
    for start in range(first, end, nl.tile_size.pmax):
        stop = min(start + nl.tile_size.pmax, end)
        count = stop - start
        values = nl.ndarray((count, hidden), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=values, src=x[start:stop, :], dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.sync)
        work = nl.ndarray((count, hidden), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((count, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(
            dst=work,
            op=nl.square,
            data=values,
            reduce_op=nl.add,
            reduce_res=total,
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
        )
        scale = nl.ndarray((count, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=scale, op=nl.rsqrt, data=total, scale=1.0 / hidden, bias=eps)
        nisa.tensor_scalar(dst=work, data=values, op0=nl.multiply, operand0=scale, engine=nisa.engine.vector)
        nisa.tensor_tensor(dst=values, data1=work, data2=gain[0:count, :], op=nl.multiply, engine=nisa.engine.vector)
        nisa.dma_copy(dst=result[start:stop, :], src=values, dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.sync)
    return result
