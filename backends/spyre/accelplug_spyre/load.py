"""Makes the ``spyre`` device exist in PyTorch."""

from __future__ import annotations

from importlib import metadata

from packaging.requirements import Requirement

from accelplug_spyre.software import SDK


def load() -> None:
    """Imports torch and torch_spyre, and registers the device unless torch's autoload has.

    Written against public sources; run on the simulator, not yet on hardware. The SDK registers once, and not while
    torch is still being imported (torch-spyre#2925); here torch is complete, so it may be asked to where
    TORCH_DEVICE_BACKEND_AUTOLOAD=0 kept torch from it. No card is opened: the first tensor does that.
    Raises ImportError where the SDK doesn't import, RuntimeError where it was built for another torch, or there is no
    ``torch.spyre`` afterwards.
    """
    import torch

    _check_torch(torch.__version__)
    import torch_spyre

    if not hasattr(torch, "spyre"):
        torch_spyre._autoload()
    if not hasattr(torch, "spyre"):
        raise RuntimeError(
            f"torch_spyre was imported from {torch_spyre.__file__} but there is no torch.spyre: its entry point in "
            "torch.backends has not registered the device; `accelplug explain --device spyre` shows what is installed"
        )


def _check_torch(version: str) -> None:
    """The SDK is compiled against one minor version of torch; another one ends in undefined symbols."""
    for text in metadata.requires(SDK) or ():
        needed = Requirement(text)
        if needed.name != "torch" or (needed.marker and not needed.marker.evaluate({"extra": ""})):
            continue
        if not needed.specifier.contains(version, prereleases=True):
            raise RuntimeError(
                f"{SDK} {metadata.version(SDK)} was built for torch {needed.specifier}, but torch {version} is "
                "installed; install the one that belongs to the other"
            )
