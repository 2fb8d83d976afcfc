"""What a vendor replaces of accelplug's way to run vLLM on its device."""

from __future__ import annotations

from accelplug.specs.record import Record


class PlatformSpec(Record):
    """The vendor's own parts, by qualified name; "" for accelplug's.

    worker
        A ``vllm.v1.worker.worker_base.WorkerBase``, in the place of accelplug's worker and runner.
    communicator
        A ``vllm.distributed.device_communicators.base_device_communicator.DeviceCommunicatorBase``.
    """

    worker: str = ""
    communicator: str = ""
