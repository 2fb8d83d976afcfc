"""What vLLM's configuration becomes for a device, and what is refused at start.

vLLM runs both hooks several times over the same object: in the process that starts the server and again in EngineCore.
"""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any

import torch

from accelplug.errors import BadInputError
from accelplug_vllm import executors
from accelplug_vllm.native import device, features, options, processes, shapes

if TYPE_CHECKING:
    from vllm.config import VllmConfig

WORKER = "accelplug_vllm.native.worker.NativeWorker"
SCHEDULER = "accelplug_vllm.native.scheduler.SlicingScheduler"
ASYNC_SCHEDULER = "accelplug_vllm.native.scheduler.AsyncSlicingScheduler"
COMPILER = "accelplug_vllm.native.compiler.DeviceCompiler"
DYNAMO_BACKEND = "accelplug"

# Operators of vLLM's, besides attention, that its models call and no compiler of a device knows.
OPAQUE = (
    *("vllm::unified_kv_cache_update", "vllm::unified_mla_kv_cache_update"),
    *("vllm::all_reduce", "vllm::all_gather", "vllm::reduce_scatter"),
    *("vllm::moe_forward", "vllm::moe_forward_shared"),
)


def apply_defaults(vllm_config: VllmConfig) -> None:
    """What has to be set before vLLM decides how it compiles: by default not at all, so far.

    Raises BadInputError for options that are none.
    """
    from vllm.config import CompilationMode

    compilation = vllm_config.compilation_config
    if compilation.mode is None:
        compiled = options.read(vllm_config.additional_config).compile
        compilation.mode = CompilationMode.VLLM_COMPILE if compiled else CompilationMode.NONE
    if _compiled_whole(vllm_config) and compilation.backend == COMPILER:
        compilation.backend = DYNAMO_BACKEND  # one of Dynamo's, not a class of vLLM's
    if compilation.compile_sizes is None:
        compilation.compile_sizes = []  # vLLM sets it for static graphs only, and asserts that it is set
    # Fusions whose passes exist for CUDA and XPU only; vLLM would name a class that it has not defined.
    for field in dataclasses.fields(compilation.pass_config):
        if field.name.startswith("fuse_") and getattr(compilation.pass_config, field.name) in (None, True):
            setattr(compilation.pass_config, field.name, False)


def _compiled_whole(vllm_config: VllmConfig) -> bool:
    """Whether torch.compile gets a model as it is, with vLLM's own operators in it."""
    from vllm.config import CompilationMode

    modes = (CompilationMode.STOCK_TORCH_COMPILE, CompilationMode.DYNAMO_TRACE_ONCE)
    return vllm_config.compilation_config.mode in modes


def check_and_update(vllm_config: VllmConfig, here: device.NativeDevice) -> list[str]:
    """Sets the worker and how processes start; says what it did that people want to know.

    Raises BadInputError for what the device can't do, naming the flag.
    """
    left_out = features.check(vllm_config, here)
    check_int64(here)
    if vllm_config.model_config is not None:
        check_dtype(vllm_config.model_config.dtype, here)
    notes = _make_static(vllm_config, here)
    parallel = vllm_config.parallel_config
    executors.check(parallel, here.spec)
    processes.install()
    if parallel.worker_cls == "auto":
        parallel.worker_cls = here.parts(vllm_config).worker or WORKER
    os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = here.spec.start_method
    own = "" if parallel.worker_cls == WORKER else f" with the worker {parallel.worker_cls}"
    return [f"native mode on {here.torch_type}{own}", *left_out, *notes]


def _make_static(vllm_config: VllmConfig, here: device.NativeDevice) -> list[str]:
    """Sizes, scheduler and compiler for a device with static shapes; says which sizes."""
    from vllm.config import CompilationMode

    made, compilation = shapes.of(vllm_config, here), vllm_config.compilation_config
    compiled = compilation.mode == CompilationMode.VLLM_COMPILE
    if made is None:
        if compiled:
            raise BadInputError(
                f"-cc.mode={compilation.mode.value}: accelplug compiles vLLM's models for devices with static shapes, "
                f"and {here.title} takes any; give --enforce-eager"
            )
        return []
    if _compiled_whole(vllm_config) and vllm_config.model_config is not None:
        raise BadInputError(
            f"-cc.mode={compilation.mode.value}: whole models have symbolic shapes and operators of vLLM's, which "
            f"{here.title} can't compile; give -cc.mode=3, which takes them apart, or -cc.mode=0"
        )
    shapes.bound(vllm_config, made)
    scheduler = vllm_config.scheduler_config
    if scheduler.scheduler_cls is None and _may_slice(vllm_config):
        scheduler.scheduler_cls = ASYNC_SCHEDULER if scheduler.async_scheduling else SCHEDULER
    if compiled:
        compilation.compile_sizes = sorted(made.tokens.sizes, reverse=True)
        if compilation.splitting_ops is None:
            compilation.splitting_ops = [*compilation._attention_ops, *OPAQUE]
        # vLLM's own store of compiled models wants graphs that can be serialised. See compat: "compile.store"
        os.environ["VLLM_USE_AOT_COMPILE"] = "0"
    return [f"steps are padded to {made.tokens} tokens"]


def _may_slice(vllm_config: VllmConfig) -> bool:
    """Whether a prompt can be cut anywhere, and people want it to."""
    scheduler, model = vllm_config.scheduler_config, vllm_config.model_config
    return bool(
        options.read(vllm_config.additional_config).slicing
        and scheduler.enable_chunked_prefill
        and not scheduler.disable_chunked_mm_input
        and not (model and model.is_encoder_decoder)
    )


def check_dtype(dtype: torch.dtype, here: device.NativeDevice) -> None:
    """Raises BadInputError where the device can't compute in ``dtype``."""
    if here.holds(dtype):
        return
    able = [name for name in ("bfloat16", "float16", "float32") if here.constraints.holds(name)]
    raise BadInputError(
        f"--dtype {str(dtype).removeprefix('torch.')}: {here.title} has no such tensors; "
        f"it can run models in {', '.join(able)}: give --dtype {here.constraints.preferred_dtype or able[0]}"
    )


def check_int64(here: device.NativeDevice) -> None:
    """Raises BadInputError where int64 tensors can't be on the device: vLLM's engine makes them there."""
    if not here.constraints.holds("int64"):
        raise BadInputError(
            f"{here.title} has no int64 tensors, and vLLM keeps token ids, positions and slots in them. Where the SDK "
            "takes them and keeps 32 bits, which is enough, the backend says so: Constraints(casts={'int64': 'int32'})"
        )


def check_attention(backend: Any, selected: Any, asked: Any) -> None:
    """Raises BadInputError where the device's attention can't do what the model asks of it."""
    if selected not in (None, backend):
        raise BadInputError(
            f"--attention-backend {selected.name}: {device.current().title} has one attention, {backend.name}; "
            "leave the option out"
        )
    reasons = backend.get_class().validate_configuration(**asked._asdict(), device_capability=None)
    if reasons:
        here = device.current()
        spec = here.attention(asked.attn_type)
        heads = spec.head_sizes or f"multiples of {here.constraints.head_multiple}"
        blocks = spec.block_sizes or f"multiples of {here.constraints.block_multiple}"
        raise BadInputError(
            f"the attention of this model can't run on {here.title}: {', '.join(reasons)} (the model has heads of "
            f"{asked.head_size} in {asked.dtype}; the device takes head sizes: {heads}, --block-size: {blocks})"
        )
