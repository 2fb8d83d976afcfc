"""Makes the ``neuron`` device exist in PyTorch."""

from __future__ import annotations


def load() -> None:
    """Imports torch, then torch_neuronx, which registers the ``neuron`` device type.

    Written against public documentation; run on the simulator, not yet on hardware. Importing the SDK by name as well
    makes this work where ``TORCH_DEVICE_BACKEND_AUTOLOAD=0`` keeps ``import torch`` from doing it.
    Raises ImportError where the SDK doesn't import, RuntimeError where it imports but brings no ``torch.neuron``.
    """
    import torch
    import torch_neuronx

    if not hasattr(torch, "neuron"):
        raise RuntimeError(
            f"torch_neuronx was imported from {torch_neuronx.__file__} but there is no torch.neuron: "
            "only torch-neuronx 2.13 and later bring it; `accelplug explain --device neuron` shows what is installed"
        )
