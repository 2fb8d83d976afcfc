"""The operators that Neuron's compile path takes apart, in accelplug's own words.

The SDK's Dynamo backend brings its own decompositions of them; these serve what compiles without it, the simulator
among them. Written against public documentation; not yet run on hardware. The SDK's list also has ``as_strided``, which
is left whole here: a decomposition can't keep its strides, and what it reads need not be inside the tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accelplug import __version__
from accelplug.specs import Decompositions


def decompositions() -> Decompositions:
    """The changes to PyTorch's table. Importing torch is left to this call."""
    from torch import ops

    from accelplug_neuron import attention_decomposition, index_decompositions, math_decompositions

    aten = ops.aten
    add: dict[Any, Callable[..., Any]] = {
        aten._scaled_dot_product_fused_attention_overrideable.default: attention_decomposition.attention,
        aten.index_copy.default: index_decompositions.index_copy,
        aten.nonzero_static.default: index_decompositions.nonzero_static,
        aten.topk.default: index_decompositions.topk,
        aten.linalg_vector_norm.default: math_decompositions.vector_norm,
        aten.linear_backward.default: math_decompositions.linear_backward,
        aten.scalar_tensor.default: math_decompositions.scalar_tensor,
        aten.sigmoid_backward.default: math_decompositions.sigmoid_backward,
    }
    return Decompositions(add=add, version=__version__)
