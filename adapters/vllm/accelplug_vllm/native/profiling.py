"""vLLM's profiler on the device: which activities its workers record there. See compat: "worker.profiler"."""

from __future__ import annotations

import torch

KIND = "torch"  # the one of vLLM's profilers that isn't CUDA's


def allow(device_type: str) -> None:
    """Lets ``--profiler-config.profiler torch`` record on the device; vLLM knows no device but those in its tree.

    The device has lanes of its own where its SDK records for torch.profiler, as the simulator does.
    """
    from vllm.profiler import wrapper

    activities = ("CPU", "PrivateUse1")
    assert torch._C._get_privateuse1_backend_name() == device_type, "the device is live before a worker is made"
    wrapper._DEFAULT_TORCH_PROFILER_ACTIVITIES[device_type] = activities
    wrapper._SUPPORTED_TORCH_PROFILER_ACTIVITIES[device_type] = frozenset(activities)
    wrapper._SUPPORTED_PROFILER_KINDS[device_type] = frozenset({KIND})
