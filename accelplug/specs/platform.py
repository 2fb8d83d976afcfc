"""What a vendor replaces of accelplug's way to run vLLM on its device."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from accelplug.specs.record import Record

# What vLLM calls the kinds of quantised linear layers; "mp": weights of few bits, under activations as they are.
LinearKind = Literal["mp", "int8", "fp8", "mxfp8", "mxfp6", "mxfp4", "nvfp4"]


class PlatformSpec(Record):
    """The vendor's own parts, by qualified name; "" for accelplug's.

    worker
        A ``vllm.v1.worker.worker_base.WorkerBase``, in the place of accelplug's worker and runner.
    communicator
        A ``vllm.distributed.device_communicators.base_device_communicator.DeviceCommunicatorBase``.
    linear_kernels
        Kernels for quantised linear layers: the kind of layer to classes as vLLM's ``register_linear_kernel`` takes
        them, tried in this order, before accelplug's. ``Capabilities.quantization`` has to say which methods they make
        work. A kernel for weights of 4 or 8 bits is better given as a `Kernel` of ``accelplug::quantized_linear``.
    """

    worker: str = ""
    communicator: str = ""
    linear_kernels: dict[LinearKind, tuple[str, ...]] = Field(default_factory=dict)
