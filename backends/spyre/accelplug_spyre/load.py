"""Makes the ``spyre`` device exist in PyTorch."""

from __future__ import annotations


def load() -> None:
    """Imports torch, then torch_spyre, and calls nothing: torch's autoload has called torch_spyre's entry point.

    Written against public sources; run on the simulator, not yet on hardware. The entry point isn't re-entrant, so it
    is left to torch.
    Raises ImportError where the SDK doesn't import, RuntimeError where there is no ``torch.spyre`` afterwards.
    """
    import os

    import torch
    import torch_spyre

    if not hasattr(torch, "spyre"):
        variable = "TORCH_DEVICE_BACKEND_AUTOLOAD"
        raise RuntimeError(
            f"torch_spyre was imported from {torch_spyre.__file__} but there is no torch.spyre: its entry point in "
            f"torch.backends registers the device while torch is imported. {variable} is "
            f"{os.environ.get(variable, 'unset')}; it must be unset or 1"
        )
