"""What native mode can't do without."""

from __future__ import annotations

from accelplug_vllm.compat.seam import Part, of, seam

ATTENTION = "vllm.v1.attention.backend"
PLATFORM = "vllm.platforms.interface:Platform"
WORKER = "vllm.v1.worker.gpu_worker"

_PLATFORM = (
    *of("vllm.platforms.interface", "PlatformEnum"),
    seam("vllm.platforms:__getattr__", says="current_platform"),
    *of(PLATFORM, "device_type", "device_name", "dispatch_key", "dist_backend", "ray_device_key"),
    *of(PLATFORM, "simple_compile_backend", "supported_dtypes", "supported_quantization"),
    seam(f"{PLATFORM}.pre_register_and_update", "parser"),
    seam(f"{PLATFORM}.apply_config_platform_defaults", "vllm_config"),
    seam(f"{PLATFORM}.check_and_update_config", "vllm_config"),
    seam(f"{PLATFORM}.get_attn_backend_cls", "selected_backend", "attn_selector_config", "num_heads"),
    seam(f"{PLATFORM}.verify_quantization", "quant"),
    seam(f"{PLATFORM}.validate_request", "processed_inputs", "params"),
    *of(PLATFORM, "import_kernels", "opaque_attention_op", "use_custom_op_collectives", "support_hybrid_kv_cache"),
    *of(PLATFORM, "check_runner_kv_caches_multi_layer", "is_sleep_mode_available", "is_pin_memory_available"),
    *of(PLATFORM, "get_device_name", "get_device_total_memory", "get_current_memory_usage", "set_device"),
    *of(PLATFORM, "manual_seed_all", "check_if_supports_dtype", "get_device_communicator_cls"),
    *of(PLATFORM, "num_compute_units"),
    *of("vllm.distributed.device_communicators.base_device_communicator", "DeviceCommunicatorBase"),
    *of("vllm.config", "VllmConfig", "get_current_vllm_config", "get_current_vllm_config_or_none", "CompilationMode"),
    *of("vllm.config.compilation:CompilationConfig", "mode", "backend", "compile_sizes", "pass_config"),
    *of("vllm.config.scheduler:SchedulerConfig", "max_num_batched_tokens", "max_num_seqs", "enable_chunked_prefill"),
    *of("vllm.config.parallel:ParallelConfig", "worker_cls", "world_size", "local_world_size"),
    *of("vllm.config.parallel:ParallelConfig", "assigned_physical_gpu_ids", "data_parallel_rank_local"),
)
_WORKER = (
    *of(f"{WORKER}:Worker", "init_device", "load_model", "execute_model", "sample_tokens"),
    *of(f"{WORKER}:Worker", "compile_or_warm_up_model"),
    seam(f"{WORKER}:Worker._init_workspace_and_model_runner", before="vllm.v1.worker.workspace:init_workspace_manager"),
    seam(
        f"{WORKER}:init_worker_distributed_environment",
        *("vllm_config", "rank", "distributed_init_method", "local_rank", "backend"),
    ),
    seam("vllm.v1.worker.utils:request_memory", "init_snapshot", "cache_config"),
    seam("vllm.utils.mem_utils:MemorySnapshot.device"),
    seam("vllm.utils.torch_utils:set_random_seed", "seed"),
    seam("vllm.v1.worker.gpu_model_runner:GPUModelRunner.__init__", "vllm_config", "device"),
    *of("vllm.v1.core.sched.output:SchedulerOutput", "total_num_scheduled_tokens"),
    *of("vllm.v1.outputs:AsyncModelRunnerOutput", "get_output"),
    seam(
        "vllm.v1.worker.block_table:ComputeSlotMappingKernel.kernel",
        *("num_tokens", "max_num_tokens", "query_start_loc_ptr", "positions_ptr", "block_table_ptr"),
        *("block_table_stride", "slot_mapping_ptr", "KV_CACHE_BLOCK_SIZE", "TOTAL_CP_WORLD_SIZE", "PAD_ID"),
        before="vllm.v1.worker.block_table:_compute_slot_mapping_kernel",
    ),
    seam("vllm.triton_utils.dispatcher:register_kernels", "overrides", before="vllm.v1.worker.block_table"),
)
_ATTENTION = (
    *of("vllm.v1.attention.backends.registry:AttentionBackendEnum", "CUSTOM"),
    seam("vllm.v1.attention.backends.registry:register_backend", "backend", "class_path"),
    *of("vllm.v1.attention.selector:AttentionSelectorConfig", "attn_type", "use_mla"),
    *of(f"{ATTENTION}:AttentionBackend", "forward_includes_kv_cache_update", "get_supported_kernel_block_sizes"),
    *of(f"{ATTENTION}:AttentionBackend", "supports_head_size", "supports_dtype", "supports_attn_type"),
    *of(f"{ATTENTION}:AttentionBackend", "supports_sliding_window", "supports_sink", "supports_non_causal"),
    *of(f"{ATTENTION}:AttentionBackend", "supports_device_cpu_query_lens_mismatch"),
    seam(f"{ATTENTION}:AttentionBackend.validate_configuration", "device_capability", "attn_type"),
    seam(
        f"{ATTENTION}:AttentionBackend.supported_kv_cache_layouts",
        before=f"{ATTENTION}:AttentionBackend.get_kv_cache_shape",
    ),
    seam("vllm.v1.kv_cache_interface:KVCacheLayout", before=f"{ATTENTION}:AttentionBackend.get_kv_cache_stride_order"),
    seam(
        f"{ATTENTION}:AttentionImpl.forward",
        *("layer", "query", "key", "value", "kv_cache", "attn_metadata", "output"),
    ),
    *of(ATTENTION, "AttentionMetadata", "AttentionType", "MultipleOf"),
    seam("vllm.model_executor.layers.attention.attention:unified_kv_cache_update", says="do_kv_cache_update("),
    seam(f"{ATTENTION}:AttentionMetadataBuilder.__init__", "kv_cache_spec", "layer_names", "vllm_config", "device"),
    seam(f"{ATTENTION}:AttentionMetadataBuilder.build", "common_prefix_len", "common_attn_metadata", "fast_build"),
    *of(f"{ATTENTION}:AttentionMetadataBuilder", "_init_reorder_batch_threshold"),
    *of(f"{ATTENTION}:CommonAttentionMetadata", "num_reqs", "query_start_loc", "query_start_loc_cpu", "seq_lens"),
    *of(f"{ATTENTION}:CommonAttentionMetadata", "seq_lens_cpu_upper_bound", "block_table_tensor", "slot_mapping"),
    *of(f"{ATTENTION}:CommonAttentionMetadata", "causal"),
    *of("vllm.v1.kv_cache_interface", "AttentionSpec", "EncoderOnlyAttentionSpec"),
    *of("vllm.config", "get_layers_from_vllm_config"),
    *of("vllm.model_executor.layers.attention_layer_base", "AttentionLayerBase"),
)
_TORCH = (
    *of("torch.accelerator", "set_device_index", "device_count", "get_memory_info", "memory_allocated", "empty_cache"),
    *of("torch._C", "_get_privateuse1_backend_name"),
)

NATIVE = Part(
    "native mode",
    "devices that are not in vLLM's tree can't be chosen",
    (*_PLATFORM, *_WORKER, *_ATTENTION, *_TORCH),
)
