"""What native mode works around in vLLM: each seam with a probe that says whether vLLM still needs it.

The tests run every probe against the installed vLLM. A seam that isn't needed any more fails there, and its code goes.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Seam:
    """One place. ``feature`` is what would not work without; ``still_needed`` looks at the installed vLLM."""

    name: str
    feature: str
    still_needed: Callable[[], bool]


@contextlib.contextmanager
def replaced(module: Any, name: str, value: object) -> Iterator[None]:
    """Another value for a name of a module of vLLM's, for the block."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def _says(module: str, owner: str, text: str) -> Callable[[], bool]:
    """Whether the source of a function or class of vLLM's has ``text``."""

    def says() -> bool:
        found = import_module(module)
        for name in owner.split("."):
            found = getattr(found, name)
        return text in inspect.getsource(found)

    return says


def _no_triton() -> bool:
    return not import_module("vllm.triton_utils").HAS_TRITON


def _takes_no_device() -> bool:
    return "device" not in inspect.signature(import_module("vllm.engine.arg_utils").EngineArgs.__init__).parameters


def _sizes_unset() -> bool:
    return import_module("vllm.config").CompilationConfig().compile_sizes is None


WORKER = "vllm.v1.worker.gpu_worker"
RUNNER = "vllm.v1.worker.gpu_model_runner"
RAY = "vllm.v1.executor.ray_executor_v2"

SEAMS = (
    Seam(
        "worker.init_device",
        "a worker on a device that is not cuda",
        _says(WORKER, "Worker.init_device", "Unsupported device type"),
    ),
    Seam(
        "worker.memory_pool",
        "loading a model: upstream asks for the allocator of its sleep mode on all but cuda, xpu and cpu",
        _says(WORKER, "Worker._maybe_get_memory_pool_context", "get_mem_allocator_instance()"),
    ),
    Seam(
        "worker.kernel_warmup",
        "starting without torchvision: warming up imports models that only CUDA has",
        _says("vllm.model_executor.warmup.kernel_warmup", "kernel_warmup", "minimax_m3_msa_warmup"),
    ),
    Seam(
        "worker.profiler",
        "recording a timeline: upstream's workers refuse the profiler on devices that aren't in its tree",
        _says("vllm.profiler.wrapper", "validate_worker_profiler_config", "Unsupported profiler device type"),
    ),
    Seam(
        "runner.streams",
        "async scheduling: the V1 runner makes torch.cuda's streams and events",
        _says(RUNNER, "GPUModelRunner.__init__", "torch.cuda.Stream()"),
    ),
    Seam(
        "runner.padding",
        "steps of few sizes: the V1 runner pads to sizes of CUDA graphs only, and makes its dispatcher itself",
        _says(RUNNER, "GPUModelRunner.__init__", "CudagraphDispatcher(self.vllm_config)"),
    ),
    Seam(
        "runner.inputs",
        "a step's inputs in one transfer: the V1 runner copies each of its buffers by itself",
        _says(RUNNER, "GPUModelRunner._prepare_inputs", "self.query_start_loc.copy_to_gpu()"),
    ),
    Seam("kernels", "the first step, and speculative decoding: they are Triton kernels in the V1 runner", _no_triton),
    Seam(
        "lora.base_model",
        "LoRA: tokens without an adapter, which would get the last slot's",
        _says("vllm.lora.ops.torch_ops.lora_ops", "bgmv_shrink", "lora_b_weights[lora_indices_tensor]"),
    ),
    Seam(
        "experts",
        "mixtures of experts: upstream sets up no kernel for platforms from outside",
        _says(
            "vllm.model_executor.layers.fused_moe.unquantized_fused_moe_method",
            "UnquantizedFusedMoEMethod.process_weights_after_loading",
            "OOT handles internally",
        ),
    ),
    Seam(
        "experts.router",
        "mixtures of experts: the default router calls a CUDA kernel on all platforms but cpu",
        _says(
            "vllm.model_executor.layers.fused_moe.router.fused_topk_router", "vllm_topk_softmax", "ops.topk_softmax("
        ),
    ),
    Seam(
        "quantization.gptq",
        "GPTQ: vLLM asks a kernel of CUDA's whether it takes the checkpoint, before it asks the kernels that there are",
        _says(
            "vllm.model_executor.layers.quantization.auto_gptq",
            "AutoGPTQLinearMethod.__init__",
            "verify_marlin_supported(",
        ),
    ),
    Seam(
        "structured_output",
        "structured output: vLLM leaves it to xgrammar, which compiles for a device that it doesn't know",
        _says("vllm.v1.structured_output.utils", "apply_grammar_bitmask", "grammar_bitmask, indices=index_tensor)"),
    ),
    Seam(
        "config.compile_sizes",
        "compiling: None, as it is without static graphs, fails an assertion of vLLM's",
        _sizes_unset,
    ),
    Seam(
        "compile.store",
        "compiling: vLLM's store of whole compiled models leaves out graphs that can't be serialised, and misses them "
        "when it is read",
        _says(
            "vllm.compilation.piecewise_backend", "PiecewiseBackend.to_bytes", 'hasattr(entry.runnable, "serialize")'
        ),
    ),
    Seam(
        "processes.environment",
        "an environment of each worker's own: what vLLM has for that is for CPUs only",
        _says(
            "vllm.utils.ompmultiprocessing", "OMPProcessManager.configure_omp_envs", "if not current_platform.is_cpu()"
        ),
    ),
    Seam(
        "groups.device",
        "workers that see one device each: vLLM's groups are on the device of the local rank",
        _says(
            "vllm.distributed.parallel_state",
            "GroupCoordinator.__init__",
            'f"{current_platform.device_name}:{self.device_index}"',
        ),
    ),
    Seam(
        "ray.ids",
        "Ray on the CPU and on devices that Ray knows by a number only: vLLM asks it for their ids",
        _says(RAY, "RayWorkerProc.get_node_and_physical_gpu_ids", "get_accelerator_ids()[device_key]"),
    ),
    Seam(
        "ray.environment",
        "an environment of each Ray worker's own: vLLM makes one for all",
        _says(RAY, "RayExecutorV2._init_executor", "runtime_env = self._build_runtime_env()"),
    ),
    Seam(
        "engine.last_words",
        "why requests fail when a device is lost: vLLM's error for all of them has no reason in it",
        _says("vllm.v1.engine.exceptions", "EngineDeadError", "See stack trace (above) for the root cause."),
    ),
    Seam("args.device", "--device and LLM(device=...)", _takes_no_device),
)
