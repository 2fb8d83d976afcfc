"""``torch.compile`` with its default backend, on a device that PyTorch doesn't have in tree.

The default is Inductor, which doesn't know such a device and has no place where one could take a graph from it: what a
device may register there comes after the graph was taken apart. So a graph on a device that was made live leaves
PyTorch's way where that begins, in the one method that hands a graph from ``torch.compile`` to Inductor, and goes to
the Dynamo backend ``accelplug``. Any other graph goes on as it was, with nothing changed on its way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from accelplug.errors import CompileRefusedError
from accelplug.tables import tables_for
from accelplug.tables.graphs import device_types

BACKEND = "accelplug"  # looked up in Dynamo by its name: it is above this file

_served: set[str] = set()


def serve(device_type: str) -> None:
    """From now on graphs on ``device_type`` are compiled by ``backend="accelplug"`` where the default was asked for.

    Imports torch, and neither Dynamo nor Inductor.
    """
    import torch

    wrapper = torch._TorchCompileInductorWrapper
    if not _served:
        wrapper.__call__ = _dispatching(wrapper.__call__)
    _served.add(device_type)


def _dispatching(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def dispatch(self: Any, graph: Any, example_inputs: Sequence[Any], **given: Any) -> Any:
        ours = [kind for kind in device_types(graph, example_inputs) & _served if _is_ours(kind)]
        if not ours:
            return stock(self, graph, example_inputs, **given)
        if self.compiler_name != "inductor":
            raise CompileRefusedError(f"{self.compiler_name} can't compile for {ours[0]}: leave out use_aoti")
        from torch._dynamo.backends.registry import lookup_backend

        # A mode is options by now
        options = {**self.config, **(given.get("config_patches") or {})}
        return lookup_backend(BACKEND)(graph, example_inputs, options=options)

    return dispatch


def _is_ours(device_type: str) -> bool:
    """Whether the device has tables. Raises CompileRefusedError where it has none and Inductor doesn't know it."""
    if tables_for(device_type) is not None:
        return True
    from torch._inductor.codegen.common import get_scheduling_for_device, init_backend_registration

    init_backend_registration()
    if get_scheduling_for_device(device_type) is None:
        raise CompileRefusedError(
            f"nothing compiles for {device_type}: Inductor doesn't know it, and its backend has no hook "
            'accelplug_compiler. torch.compile(model, backend="aot_eager") runs its graphs op by op'
        )
    return False
