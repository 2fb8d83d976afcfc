"""vLLM in this process, on the device that is examined."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelplug.conformance.subject import Subject
from accelplug_vllm.tiny.models import checkpoint

if TYPE_CHECKING:
    import torch
    from vllm.config import VllmConfig

MODEL = "llama"
LONGEST = 512  # tokens of a request
DTYPES = ("float32", "bfloat16", "float16")


def model() -> Path:
    """The folder of the model that vLLM is given."""
    return checkpoint(MODEL)


def platform(subject: Subject) -> Any:
    """vLLM's platform here. Asking for it makes the device live."""
    os.environ["ACCELPLUG_DEVICE"] = subject.name
    from vllm.platforms import current_platform

    return current_platform


def dtype_name(subject: Subject) -> str:
    """The dtype that models run in: float32 where the device holds it, as its rounding hides least."""
    return "float32" if subject.constraints.holds("float32") else subject.constraints.preferred_dtype or "float16"


def dtypes(subject: Subject) -> list[str]:
    """Those of the floating-point dtypes of models that the device holds."""
    return [name for name in DTYPES if subject.constraints.holds(name)]


@functools.cache
def configuration(device: str, dtype: str) -> VllmConfig:
    """vLLM's configuration of the model on the device, as an engine would make it."""
    from vllm.engine.arg_utils import EngineArgs

    os.environ["ACCELPLUG_DEVICE"] = device
    return EngineArgs(**small(dtype)).create_engine_config()


def small(dtype: str) -> dict[str, Any]:
    """Arguments of vLLM's for an engine that starts quickly and takes little memory."""
    return {
        "model": str(model()),
        "dtype": dtype,
        "max_model_len": LONGEST,
        "max_num_seqs": 4,
        "max_num_batched_tokens": 128,
        "kv_cache_memory_bytes": 16 << 20,
        "enforce_eager": True,
        "seed": 0,
    }


def torch_dtype(name: str) -> torch.dtype:
    import torch

    dtype: torch.dtype = getattr(torch, name)
    return dtype


def search_path() -> list[str]:
    """Where a program finds modules and entry points, so that it finds those that this process has."""
    return [os.path.abspath(folder) for folder in sys.path]
