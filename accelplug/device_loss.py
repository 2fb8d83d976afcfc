"""Whether a device is lost. SDKs say so in many ways, or in none, so the device itself is asked."""

from __future__ import annotations

import threading

import torch

from accelplug.errors import DeviceLostError

PATIENCE = 10.0  # seconds for one addition


def lost(device: torch.device, error: Exception) -> DeviceLostError | None:
    """What an ``error`` that came while ``device`` was used means: its loss, or None where the device still works.

    Lost is a device that can't add two numbers up, or not in `PATIENCE` seconds. A full one isn't.
    """
    failed: list[Exception] = []
    asking = threading.Thread(target=_add, args=(device, failed), name="accelplug-asks-device", daemon=True)
    asking.start()
    asking.join(PATIENCE)
    if not failed and not asking.is_alive():
        return None
    how = f" does not answer within {PATIENCE:g} s" if asking.is_alive() else " is lost"
    said = next(iter(str(error).splitlines()), "")
    return DeviceLostError(f"{device}{how}; the last that came from it is {type(error).__name__}: {said}")


def _add(device: torch.device, failed: list[Exception]) -> None:
    try:
        torch.ones(1, device=device).add_(1).item()
    except torch.OutOfMemoryError:
        return  # it is there to refuse
    except Exception as error:
        failed.append(error)
