"""What of native mode the rest can do without."""

from __future__ import annotations

from accelplug_vllm.compat.seam import Part, of, seam

EXPERTS = "vllm.model_executor.layers.fused_moe"
LAYERS = "vllm.model_executor.layers"
PUNICA = "vllm.lora.punica_wrapper.punica_cpu:PunicaWrapperCPU"
REJECTION = "vllm.v1.sample.rejection_sampler"
RUNNER = "vllm.v1.worker.gpu_model_runner"

ASYNC_SCHEDULING = Part(
    "async scheduling",
    "a step is scheduled when the one before it has ended",
    (
        seam(RUNNER, says="import torch\n"),
        *of("vllm.config.scheduler:SchedulerConfig", "async_scheduling"),
        *of("torch._C", "Stream", "Event"),
        *of("torch.accelerator", "current_stream"),
    ),
)
STATIC_SHAPES = Part(
    "static shapes",
    "steps are not padded to buckets, and nothing is compiled",
    (
        seam("vllm.v1.cudagraph_dispatcher:CudagraphDispatcher.__init__", "vllm_config"),
        seam("vllm.v1.cudagraph_dispatcher:CudagraphDispatcher.dispatch", "num_tokens"),
        *of("vllm.config", "CUDAGraphMode"),
        *of("vllm.forward_context:BatchDescriptor", "num_tokens"),
        *of(f"{RUNNER}:GPUModelRunner", "cudagraph_dispatcher"),
    ),
)
SLICING = Part(
    "slicing",
    "prefills are padded, and never cut to fill a bucket",
    (
        *of("vllm.v1.core.sched.scheduler:Scheduler", "schedule", "max_num_scheduled_tokens", "max_num_running_reqs"),
        *of("vllm.v1.core.sched.scheduler:Scheduler", "running", "waiting"),
        *of("vllm.v1.core.sched.async_scheduler", "AsyncScheduler"),
        *of("vllm.v1.core.sched.output", "SchedulerOutput"),
        *of("vllm.v1.request:Request", "num_tokens_with_spec", "num_output_placeholders", "num_computed_tokens"),
        *of("vllm.v1.request:Request", "is_prefill_chunk", "num_tokens"),
        *of("vllm.config.scheduler:SchedulerConfig", "scheduler_cls", "disable_chunked_mm_input"),
    ),
)
COMPILING = Part(
    "compiled models",
    "models run op by op",
    (
        seam(
            "vllm.compilation.compiler_interface:CompilerInterface.compile",
            *("graph", "example_inputs", "compiler_config", "compile_range", "key"),
        ),
        *of("vllm.config.utils:Range", "is_single_size"),
        *of("vllm.config.compilation:CompilationConfig", "splitting_ops", "_attention_ops"),
        *of("vllm.platforms.interface:Platform", "get_compile_backend"),
        seam(f"{RUNNER}:GPUModelRunner._dummy_run", "num_tokens", "skip_eplb", "remove_lora"),
        seam("vllm.envs", says="VLLM_USE_AOT_COMPILE"),
        *of("torch._guards", "TracingContext", "tracing"),
        *of("torch._subclasses", "FakeTensorMode"),
        *of("torch.fx.experimental.symbolic_shapes", "ShapeEnv"),
        *of("torch.fx", "Graph", "GraphModule", "Node", "map_arg"),
    ),
)
PACKING = Part(
    "inputs in one transfer",
    "each of a step's inputs goes to the device by itself",
    (
        seam(f"{RUNNER}:GPUModelRunner._prepare_inputs", "scheduler_output"),
        seam(
            f"{RUNNER}:GPUModelRunner._prepare_input_ids",
            "scheduler_output",
            "num_reqs",
            "total_num_scheduled_tokens",
            "cu_num_tokens",
        ),
        *of(f"{RUNNER}:GPUModelRunner", "input_ids", "query_start_loc", "optimistic_seq_lens_cpu", "attn_groups"),
        *of(f"{RUNNER}:GPUModelRunner", "prev_positions"),
        *of("vllm.v1.worker.utils:AttentionGroup", "get_metadata_builder"),
        *of("torch.overrides", "TorchFunctionMode"),
    ),
)
IR = Part(
    "kernels in vLLM's IR",
    "the backend's kernels run below vLLM's layers only",
    (
        *of("vllm.ir.op:IrOp", "registry", "impls", "get_priority"),
        seam("vllm.ir.op:IrOp.register_impl", "provider", "supports_args"),
        *of("vllm.ir.op:IrOpImpl", "impl_fn"),
        *of("vllm.platforms.interface:Platform", "import_ir_kernels"),
        seam("vllm.platforms.interface:Platform.get_default_ir_op_priority", "vllm_config"),
        seam("vllm.config.kernel:IrOpPriorityConfig.with_default", "default"),
    ),
)
REPLACED_LAYERS = Part(
    "replaced layers",
    "neither the vendor's layers nor accelplug's stand in the place of vLLM's",
    (
        seam("vllm.model_executor.custom_op:CustomOp.register_oot", "name"),
        *of("vllm.model_executor.custom_op", "PluggableLayer", "op_registry_oot"),
        *of(f"{LAYERS}.activation:SiluAndMul", "forward_native"),
        *of(f"{LAYERS}.rotary_embedding:RotaryEmbedding", "forward_native", "_match_cos_sin_cache_dtype"),
        *of(f"{LAYERS}.rotary_embedding:RotaryEmbedding", "is_neox_style", "rotary_dim", "head_size"),
        *(seam(f"{LAYERS}.{module}") for module in ("conv", "fused_moe", "layernorm", "linear", "logits_processor")),
        seam(f"{LAYERS}.vocab_parallel_embedding"),
        *of("vllm.utils.import_utils", "resolve_obj_by_qualname"),
    ),
)
MIXTURES = Part(
    "mixtures of experts",
    "a model that is one is refused",
    (
        *of(f"{EXPERTS}.router.fused_topk_router", "vllm_topk_softmax", "vllm_topk_sigmoid"),
        seam(
            f"{EXPERTS}.unquantized_fused_moe_method:UnquantizedFusedMoEMethod.forward_native",
            *("layer", "x", "topk_weights", "topk_ids", "shared_experts", "shared_experts_input"),
        ),
        seam(
            f"{EXPERTS}.unquantized_fused_moe_method:UnquantizedFusedMoEMethod.process_weights_after_loading", "layer"
        ),
        *of(f"{EXPERTS}.unquantized_fused_moe_method:UnquantizedFusedMoEMethod", "is_monolithic"),
        *of("vllm.model_executor.custom_op", "op_registry_oot"),
    ),
)
QUANTISED = Part(
    "quantised models",
    "a model that is one is refused",
    (
        *of("vllm.model_executor.kernels.linear", "MPLinearKernel", "MPLinearLayerConfig"),
        seam("vllm.model_executor.kernels.linear:register_linear_kernel", "kernel_class", "platform", "kernel_type"),
        *of(f"{LAYERS}.linear", "LinearBase"),
        *of(f"{LAYERS}.vocab_parallel_embedding", "ParallelLMHead"),
        *of(f"{LAYERS}.quantization.auto_gptq", "verify_marlin_supported"),
        *of("vllm.scalar_type", "scalar_types"),
        *of("vllm.platforms", "PlatformEnum"),
    ),
)
LATENT_ATTENTION = Part(
    "latent attention",
    "a model that has it is refused",
    (
        *of("vllm.v1.attention.backend", "MLAAttentionImpl"),
        *of("vllm.v1.attention.backends.mla.prefill.registry:MLAPrefillBackendEnum", "CPU"),
        seam("vllm.platforms.interface:Platform.get_mla_prefill_backend_cls", "mla_selector_config"),
    ),
)
STRUCTURED_OUTPUT = Part(
    "structured output",
    "a request for it is refused",
    (
        *of("vllm.v1.structured_output.utils", "xgr"),
        seam("vllm.v1.structured_output.utils:apply_grammar_bitmask", says="xgr.apply_token_bitmask_inplace("),
    ),
)
DRAFTS = Part(
    "speculative decoding",
    "--speculative-config is refused",
    (
        seam(
            f"{REJECTION}:rejection_greedy_sample_kernel",
            *("output_token_ids_ptr", "cu_num_draft_tokens_ptr", "draft_token_ids_ptr", "target_argmax_ptr"),
            *("bonus_token_ids_ptr", "is_greedy_ptr"),
        ),
        seam(
            f"{REJECTION}:rejection_random_sample_kernel",
            *("draft_probs_ptr", "target_probs_ptr", "recovered_token_ids_ptr", "uniform_probs_ptr", "NO_DRAFT_PROBS"),
        ),
        seam(
            f"{REJECTION}:expand_kernel",
            *("output_ptr", "input_ptr", "cu_num_tokens_ptr", "replace_from", "replace_to"),
        ),
        seam(f"{REJECTION}:sample_recovered_tokens_kernel", "output_token_ids_ptr", "target_probs_ptr"),
    ),
)
SEEDS = Part(
    "requests with a seed",
    "one whose prompt is run in several steps ends the server",
    (
        seam(f"{RUNNER}:GPUModelRunner.sample_tokens", "grammar_output"),
        *of(f"{RUNNER}:GPUModelRunner", "discard_request_mask", "input_batch"),
        *of("vllm.v1.worker.gpu_input_batch:InputBatch", "generators", "num_reqs"),
    ),
)
LORA = Part(
    "LoRA",
    "--enable-lora is refused",
    (
        *of(PUNICA, "add_lora_embedding", "add_lora_logits", "token_lora_indices", "sampler_indices"),
        seam(f"{PUNICA}._apply_shrink", "y", "x", "w_t_all", "scale"),
        *of("vllm.platforms.interface:Platform", "get_punica_wrapper"),
    ),
)
PROFILER = Part(
    "timelines of the device",
    "a recorded timeline has no lanes of the device",
    (
        *of("vllm.profiler.wrapper", "_DEFAULT_TORCH_PROFILER_ACTIVITIES", "_SUPPORTED_TORCH_PROFILER_ACTIVITIES"),
        *of("vllm.profiler.wrapper", "_SUPPORTED_PROFILER_KINDS"),
    ),
)
LAST_WORDS = Part(
    "last words",
    "requests that fail as a device is lost get vLLM's error, which has no reason in it",
    (
        seam("vllm.exceptions:GracefulHTTPError.__init__", "message", "http_status"),
        *of("vllm.v1.engine.exceptions", "EngineDeadError"),
    ),
)
SEVERAL_WORKERS = Part(
    "several workers",
    "more than one device for a model is refused",
    (
        seam("vllm.v1.executor.multiproc_executor:WorkerProc.make_worker_process", "vllm_config", "local_rank", "rank"),
        *of("vllm.distributed.parallel_state", "_groups", "get_tp_group", "get_world_group"),
        *of("vllm.distributed.parallel_state:GroupCoordinator", "device", "device_communicator", "device_group"),
        *of("vllm.distributed.parallel_state:GroupCoordinator", "world_size", "rank_in_group", "ranks", "all_reduce"),
    ),
)

NATIVE_PARTS = (
    ASYNC_SCHEDULING,
    STATIC_SHAPES,
    SLICING,
    COMPILING,
    PACKING,
    IR,
    REPLACED_LAYERS,
    MIXTURES,
    QUANTISED,
    LATENT_ATTENTION,
    STRUCTURED_OUTPUT,
    DRAFTS,
    SEEDS,
    LORA,
    PROFILER,
    LAST_WORDS,
    SEVERAL_WORKERS,
)
