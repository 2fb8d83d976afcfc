"""What a device asks of tensors: dtypes, alignment, shapes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from accelplug.alignment import up_to
from accelplug.specs.record import Record

Multiple = Annotated[int, Field(ge=1)]


class Constraints(Record):
    """The rules of one device. Without any, it is as free as a CPU.

    dtypes
        What tensors on it can be; empty: everything.
    casts
        What it holds at less precision under the same name: ``{"int64": "int32"}``.
    preferred_dtype
        What models should run in where nobody asks: ``"float16"``; "" for what the model was saved in.
    alignment_bytes
        The unit of its memory; the last dimension of a tensor is padded to it.
    clone_offset
        Tensors that don't start where their memory does must be copied before a compiled graph takes them.
    head_multiple, block_multiple
        What an attention head's size and a KV block's number of tokens must be multiples of.
    static_shapes
        Compiled graphs have fixed shapes.
    buckets
        The lengths that a dimension of varying size is padded to, where nobody gives others; empty: powers of two.
    """

    dtypes: tuple[str, ...] = ()
    casts: dict[str, str] = Field(default_factory=dict)
    preferred_dtype: str = ""
    alignment_bytes: Multiple = 1
    clone_offset: bool = False
    head_multiple: Multiple = 1
    block_multiple: Multiple = 1
    static_shapes: bool = False
    buckets: tuple[Multiple, ...] = ()

    def holds(self, dtype: str) -> bool:
        """Whether tensors of this dtype can be on the device."""
        return not self.dtypes or dtype in self.dtypes or dtype in self.casts

    def unit(self, dtype: str) -> int:
        """How many elements the device's unit of memory holds, in the dtype that it keeps ``dtype`` as.

        1 where the unit is smaller than an element. Raises ValueError for a dtype that can't be on the device.
        """
        if not self.holds(dtype):
            raise ValueError(f"{dtype} can't be on the device; it holds {', '.join((*self.dtypes, *self.casts))}")
        return max(1, self.alignment_bytes // _bytes(self.casts.get(dtype, dtype)))

    def padded(self, shape: Sequence[int], dtype: str) -> tuple[int, ...]:
        """The shape that a tensor takes in the device's memory: the last dimension in whole units.

        A tensor without dimensions stays without. Raises ValueError as `unit` does.
        """
        unit = self.unit(dtype)
        return (*shape[:-1], up_to(shape[-1], unit)) if shape else ()


def _bytes(dtype: str) -> int:
    """The size of an element, from the dtype's name: ``float8_e4m3fn``, ``uint16``, ``complex64``."""
    if dtype == "bool":
        return 1
    bits = re.match(r"(?:u?int|b?float|complex)(\d+)", dtype)
    if bits is None:
        raise ValueError(f"unknown dtype {dtype!r}; give the name of one of torch's, such as 'float16'")
    return int(bits[1]) // 8
