"""The kernels that accelplug brings for Neuron, each at one or more levels of control.

One module for each operator has its reference and its records; `bodies` has what runs on the device, `sdk` what makes a
function of a body. Importing this imports torch, and nothing of the SDK.

The NKI kernels follow AWS's public documentation. They have not met the NKI compiler, nor hardware: tests run their
bodies under an interpreter of the calls they use. Nothing has been timed, against the SDK's own kernels or otherwise;
``accelplug.kernels(disable="nki")`` leaves those in charge.
"""

from __future__ import annotations

from accelplug.specs import Kernel
from accelplug_neuron.kernels import matmul, rms_norm, rotary_embedding, silu_and_mul, softmax


def kernels() -> tuple[Kernel, ...]:
    """All of them, by operator and then from the most control to the least."""
    return (*rms_norm.KERNELS, *silu_and_mul.KERNELS, *rotary_embedding.KERNELS, *softmax.KERNELS, *matmul.KERNELS)
