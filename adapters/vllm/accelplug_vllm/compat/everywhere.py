"""What every mode depends on: the platform that vLLM is given, its command line, several processes."""

from __future__ import annotations

from accelplug_vllm.compat.seam import Part, of, seam

ARGUMENTS = "vllm.engine.arg_utils"
OMP = "vllm.utils.ompmultiprocessing:OMPProcessManager"
PARALLEL = "vllm.config.parallel:ParallelConfig"
PLATFORM = "vllm.platforms.interface:Platform"
RAY = "vllm.v1.executor.ray_executor_v2"

DELEGATE = Part(
    "delegate mode",
    "vLLM picks its own platform for cuda, rocm, xpu and cpu",
    (
        *of("vllm.platforms", "builtin_platform_plugins"),
        *of("vllm.utils.import_utils", "resolve_obj_by_qualname"),
        seam(f"{PLATFORM}.check_and_update_config", "vllm_config"),
        seam(f"{PLATFORM}.pre_register_and_update", "parser"),
        *of(PARALLEL, "distributed_executor_backend", "data_parallel_size", "data_parallel_backend", "worker_cls"),
        *of("vllm.config:VllmConfig", "parallel_config", "additional_config"),
    ),
)
ARBITRATION = Part(
    "arbitration",
    "where another package claims vLLM's platform too, vLLM stops with its own message",
    (
        seam("vllm.platforms:resolve_current_platform_cls_qualname", says="platform_plugins = load_plugins_by_group("),
        seam("vllm.platforms:resolve_current_platform_cls_qualname", says="activated_plugins.append("),
    ),
)
DEVICE_FLAG = Part(
    "--device",
    "vLLM has no --device and no device=; set ACCELPLUG_DEVICE",
    (
        *of(ARGUMENTS, "EngineArgs", "AsyncEngineArgs"),
        seam(f"{ARGUMENTS}:EngineArgs.add_cli_args", "parser"),
        seam(f"{PLATFORM}.pre_register_and_update", "parser"),
        *of("vllm.utils.argparse_utils", "FlexibleArgumentParser"),
        seam("vllm.entrypoints.llm:LLM"),
        seam("vllm.v1.engine.llm_engine"),
        seam("vllm.v1.engine.async_llm"),
    ),
)
METRICS = Part(
    "metrics of several API servers",
    "a server with several API servers doesn't say which device it runs on",
    (seam("vllm.v1.utils:APIServerProcessManager", says='name=f"ApiServer_{i}"'),),
)
TRACE = Part(
    "accelplug trace",
    "a server doesn't say where its traces are",
    (
        *of("vllm.config:VllmConfig", "profiler_config"),
        *of("vllm.config.profiler:ProfilerConfig", "profiler", "torch_profiler_dir", "torch_profiler_with_stack"),
        *of("vllm.config.profiler:ProfilerConfig", "torch_profiler_dump_cuda_time_total"),
    ),
)
CPU_DEFAULTS = Part(
    "CPU defaults",
    "vLLM's own executor and threads on the CPU",
    (
        *of(OMP, "skip_setup", "auto_setup", "cpu_lists", "reserved_cpu_list"),
        seam(f"{OMP}.configure_omp_envs", "rank", "local_rank"),
    ),
)
RAY_EXECUTOR = Part(
    "Ray",
    "--distributed-executor-backend ray is refused",
    (
        seam(f"{RAY}:RayWorkerProc.get_node_and_physical_gpu_ids"),
        *of(f"{RAY}:RayExecutorV2", "_init_executor", "_build_runtime_env", "_get_actor_resource_kwargs", "shutdown"),
        seam(f"{RAY}:RayExecutorV2._is_driver_worker", "rank"),
        *of("vllm.v1.executor.ray_utils", "WORKER_SPECIFIC_ENV_VARS", "get_bundles_sorted_by_node"),
        *of("vllm.v1.executor.ray_utils", "get_bundles_for_indices"),
        seam("vllm.envs", says="VLLM_RAY_BUNDLE_INDICES"),
        *of(PARALLEL, "placement_group", "ray_runtime_env", "world_size"),
    ),
)
LAYERS_ON_DEVICE = Part(
    "layers_on_device",
    "single layers can't be on a device beside a model on the CPU",
    (
        *of("vllm.v1.worker.cpu_worker:CPUWorker", "init_device", "load_model", "execute_model", "sample_tokens"),
        *of("vllm.model_executor.custom_op", "CustomOp"),
        *of("vllm.model_executor.layers.layernorm", "RMSNorm"),
        *of("vllm.ir.op:IrOp", "registry", "impls"),
        *of("torch.utils._pytree", "tree_map_only"),
        *of("vllm.config", "CompilationMode"),
    ),
)

EVERYWHERE = (
    DELEGATE,
    ARBITRATION,
    DEVICE_FLAG,
    METRICS,
    TRACE,
    CPU_DEFAULTS,
    RAY_EXECUTOR,
    LAYERS_ON_DEVICE,
)
