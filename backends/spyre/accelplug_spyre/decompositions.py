"""What Spyre's compiler wants taken apart, and what it wants whole.

Written against public sources of torch-spyre; not yet run on hardware.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelplug import __version__
from accelplug.specs import Decompositions

if TYPE_CHECKING:
    from torch import Tensor
    from torch.types import Number


def decompositions() -> Decompositions:
    """The changes to PyTorch's table.

    Whole: ``triu`` and ``tril``; ``mm`` and ``bmm``, which torch 2.12 and later turn into broadcast products where the
    inner dimension is 1. Taken apart: ``gt`` and ``lt``, which the compiler doesn't have, into ``ge`` or ``le``, and
    ``ne``.
    (torch-spyre: its decomposition table and the list of what it leaves out, ``_inductor/decompositions.py``.)
    """
    from torch import ops

    aten = ops.aten
    return Decompositions(
        add={
            aten.gt.Tensor: greater,
            aten.gt.Scalar: greater,
            aten.lt.Tensor: less,
            aten.lt.Scalar: less,
        },
        exclude=(aten.triu, aten.tril, aten.mm, aten.bmm),
        version=__version__,
    )


# The product of two booleans is a boolean: a > b where a >= b and a != b. Where one is NaN only `ne` is true, so the
# product is false, as `gt` and `lt` are. `b` is a tensor or a number.


def greater(a: Tensor, b: Tensor | Number) -> Tensor:
    return a.ge(b).mul(a.ne(b))


def less(a: Tensor, b: Tensor | Number) -> Tensor:
    return a.le(b).mul(a.ne(b))
