"""What Spyre's compiler wants taken apart, and what it wants whole.

Written against public sources of torch-spyre; not yet run on hardware.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from accelplug import __version__
from accelplug.specs import Decompositions

if TYPE_CHECKING:
    from torch import Tensor
    from torch.types import Number


def decompositions() -> Decompositions:
    """The changes to PyTorch's table.

    Whole: ``triu`` and ``tril``; ``mm`` and ``bmm``, which torch 2.12 and later turn into broadcast products where the
    inner dimension is 1. Taken apart: ``gt`` and ``lt``, which the compiler doesn't have, into ``ge`` or ``le``, and
    ``ne``. Where the SDK is loaded, its own table comes first: compile_fx takes one table, and torch-spyre gives its
    own only where it is given none.
    (torch-spyre: its decomposition table and the list of what it leaves out, ``_inductor/decompositions.py``.)
    """
    from torch import ops

    aten = ops.aten
    added, excluded = _of_the_sdk()
    return Decompositions(
        add={
            aten.gt.Tensor: greater,
            aten.gt.Scalar: greater,
            aten.lt.Tensor: less,
            aten.lt.Scalar: less,
            **added,
        },
        exclude=(aten.triu, aten.tril, aten.mm, aten.bmm, *excluded),
        version=__version__,
    )


def _of_the_sdk() -> tuple[dict[Any, Callable[..., Any]], tuple[Any, ...]]:
    """What torch-spyre takes apart, and what it leaves whole. The simulator's stand-in has no table."""
    if "torch_spyre" not in sys.modules or find_spec("torch_spyre._inductor") is None:
        return {}, ()
    from torch_spyre._inductor import decompositions as theirs

    return dict(theirs.spyre_decompositions), tuple(theirs.spyre_decompositions_to_exclude)


# The product of two booleans is a boolean: a > b where a >= b and a != b. Where one is NaN only `ne` is true, so the
# product is false, as `gt` and `lt` are. `b` is a tensor or a number.


def greater(a: Tensor, b: Tensor | Number) -> Tensor:
    """``a > b``, bool."""
    return a.ge(b).mul(a.ne(b))


def less(a: Tensor, b: Tensor | Number) -> Tensor:
    """``a < b``, bool."""
    return a.le(b).mul(a.ne(b))
