"""Which of vLLM's model runners runs on a device: so far V1, as V2 is made of Triton kernels.

vLLM itself takes V2 wherever Triton is installed, whether or not it compiles for the device.
"""

from __future__ import annotations

import os
from typing import Any

VARIABLE = "VLLM_USE_V2_MODEL_RUNNER"
WHY_V1 = "vLLM's V2 model runner is made of Triton kernels, and accelplug runs V1, which isn't"


def choose() -> None:
    """For this process and those that it starts, unless somebody has asked for one by its variable."""
    os.environ.setdefault(VARIABLE, "0")


def is_asked_for(vllm_config: Any) -> bool:
    """Whether vLLM would run V2 because the variable says so, and no option that only V2 has."""
    return getattr(vllm_config, "use_v2_model_runner", False) and getattr(vllm_config, "watermark_config", None) is None
