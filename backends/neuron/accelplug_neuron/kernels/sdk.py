"""Makes functions of NKI bodies, with what AWS documents for PyTorch: ``nki.jit`` and ``torch_neuronx.wrap_nki``.

Not run: neither package can be had where this was written.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from importlib import metadata
from typing import Any

from accelplug_neuron.cores import logical_nc
from accelplug_neuron.generations import NATIVE_LNC
from accelplug_neuron.software import NKI, PLACEHOLDERS, version_number

FIRST_NKI = (0, 6)  # which the bodies are written for; views such as NkiTensor.broadcast came with 0.5


def kernel(module: str, body: str) -> Callable[..., Any]:
    """The function ``body`` of ``accelplug_neuron.kernels.bodies.<module>``, compiled for the device at its first call.

    It takes tensors of the device, and numbers that are compiled in, and returns what the body does. It runs on all
    physical cores of a logical one. Raises ImportError, saying what is missing, where the SDK can't do that.
    """
    _check_nki()
    nki = importlib.import_module("nki")
    from torch_neuronx import wrap_nki

    bodies = importlib.import_module(f"accelplug_neuron.kernels.bodies.{module}")
    cores = logical_nc(os.environ, None) or NATIVE_LNC
    launched: Callable[..., Any] = wrap_nki(nki.jit(getattr(bodies, body)))[cores]
    return launched


def _check_nki() -> None:
    try:
        version = metadata.version(NKI)
    except metadata.PackageNotFoundError:
        raise ImportError("nki is not installed; it comes with torch-neuronx from the AWS package index") from None
    if version == PLACEHOLDERS[NKI]:
        raise ImportError(
            f"the installed nki {version} is PyPI's placeholder; the real one is on the AWS package index"
        )
    number = version_number(version)
    if number is None or number < FIRST_NKI:
        first = ".".join(map(str, FIRST_NKI))
        raise ImportError(f"nki {version} is too old for these kernels: they need {first} (Neuron SDK 2.32) or later")
