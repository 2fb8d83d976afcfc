"""Makes the ``neuron`` device exist in PyTorch."""

from __future__ import annotations

from importlib import metadata

from accelplug_neuron.software import SDK, not_native

EXPLAIN = "`accelplug explain --device neuron` shows what is installed"


def load() -> None:
    """Imports torch, then torch_neuronx, which registers the ``neuron`` device type.

    Written against public documentation; run on the simulator, not yet on hardware. Importing the SDK by name as well
    makes this work where ``TORCH_DEVICE_BACKEND_AUTOLOAD=0`` keeps ``import torch`` from doing it.
    Raises ImportError where the SDK isn't installed or doesn't import, RuntimeError where it is of a version without a
    native device, or brings no ``torch.neuron``.
    """
    import torch

    try:
        version = metadata.version(SDK)
    except metadata.PackageNotFoundError:
        raise ModuleNotFoundError(f"{SDK} is not installed; {EXPLAIN}", name="torch_neuronx") from None
    if problem := not_native(version):
        raise RuntimeError(f"{problem}; {EXPLAIN}")
    import torch_neuronx

    if not hasattr(torch, "neuron"):
        raise RuntimeError(
            f"torch_neuronx {version} was imported from {torch_neuronx.__file__} but there is no torch.neuron; "
            + EXPLAIN
        )
