"""The platform of a device that is not in vLLM's tree. ``accelplug_vllm.native.platform.neuron`` is the class.

It is made when vLLM asks for it, and with it the device becomes live: vLLM makes a ``torch.device`` of its name before
it does anything else. What vLLM asks beside this, it asks ``torch.neuron``.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, cast

import torch
from vllm.platforms.interface import Platform, PlatformEnum
from vllm.v1.attention.backends.registry import AttentionBackendEnum, register_backend

from accelplug.errors import AccelplugError
from accelplug_vllm import device_flag, last_words, metrics, refusal, report, resolution, worker_metrics
from accelplug_vllm.layers import fused, host, ir
from accelplug_vllm.native import configuration, device, features, kernels, memory, runner

if TYPE_CHECKING:
    from vllm.config import VllmConfig
    from vllm.config.kernel import IrOpPriorityConfig
    from vllm.utils.argparse_utils import FlexibleArgumentParser
    from vllm.v1.attention.selector import AttentionSelectorConfig

ATTENTION = "accelplug_vllm.native.attention.backend.PagedAttention"
LATENT_ATTENTION = "accelplug_vllm.native.attention.latent.LatentAttention"
PUNICA = "accelplug_vllm.native.lora.NativePunica"
COMMUNICATOR = "vllm.distributed.device_communicators.base_device_communicator.DeviceCommunicatorBase"


def __getattr__(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        here = device.current()
    except AccelplugError as error:
        refusal.stop(error)
    if name != here.name:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: the device here is {here.name}")
    return _made(here)


@functools.cache
def _made(here: device.NativeDevice) -> type:
    class AccelplugNativePlatform(NativePlatform):
        device_name = device_type = here.torch_type
        dist_backend = here.distributed_backend
        ray_device_key = here.spec.ray_resource

    runner.choose()
    AccelplugNativePlatform.supported_quantization = list(here.capabilities.quantization or ())
    return AccelplugNativePlatform


class NativePlatform(Platform):  # type: ignore[misc]
    """What is the same for every device."""

    _enum = PlatformEnum.OOT
    dispatch_key = "PrivateUse1"
    # `device_control_env_var` stays unset: vLLM, which reads no ranges ("0-3"), then counts the visible devices from 0,
    # and the backend's `worker_env` turns such a number into what the vendor calls the device.
    simple_compile_backend = "eager"  # of small functions; Inductor has no code for the device

    @property
    def supported_dtypes(self) -> list[torch.dtype]:
        """What ``--dtype auto`` may become: the model's own where it is among them, else the first.

        float32 never is what it becomes where it is not the first; vLLM looks for it when a head is to run in it. A
        dtype that is asked for by name is checked by `configuration`.
        """
        here = device.current()
        preferred = here.constraints.preferred_dtype
        dtypes = [getattr(torch, preferred)] if preferred else [torch.bfloat16, torch.float16]
        return [dtype for dtype in dict.fromkeys((*dtypes, torch.float32)) if here.holds(dtype)]

    # Configuration

    @classmethod
    def pre_register_and_update(cls, parser: FlexibleArgumentParser | None = None) -> None:
        if parser is not None:
            device_flag.add_to(parser)

    @classmethod
    def apply_config_platform_defaults(cls, vllm_config: VllmConfig) -> None:
        try:
            configuration.apply_defaults(vllm_config)
        except AccelplugError as error:
            refusal.stop(error)

    @classmethod
    def check_and_update_config(cls, vllm_config: VllmConfig) -> None:
        try:
            notes = configuration.check_and_update(vllm_config, device.current())
            host.apply(vllm_config, device.current().name)
        except AccelplugError as error:
            refusal.stop(error)
        worker_metrics.receive()
        last_words.receive()
        metrics.publish_profiler(vllm_config.profiler_config)
        report.at_start(resolution.decide(), notes=[*notes, *fused.said(cls.device_type)])

    @classmethod
    def verify_quantization(cls, quant: str) -> None:
        """`features` refuses what the device lacks, with the flag and what to do, and with all else that it lacks."""

    def is_sleep_mode_available(self) -> bool:
        """As for quantisation: vLLM's own refusal would come first, and names no flag."""
        return True

    @classmethod
    def validate_request(cls, processed_inputs: Any, params: Any) -> None:
        features.check_request(params, device.current())

    @classmethod
    def support_hybrid_kv_cache(cls) -> bool:
        return True

    @classmethod
    def check_runner_kv_caches_multi_layer(cls) -> None:
        """Several attention layers with one index (an encoder-decoder's) are fine: caches are bound by layer name."""

    # Attention and kernels

    @classmethod
    def get_attn_backend_cls(
        cls,
        selected_backend: AttentionBackendEnum | None,
        attn_selector_config: AttentionSelectorConfig,
        num_heads: int | None = None,
    ) -> str:
        theirs = device.current().attention(attn_selector_config.attn_type or "decoder").backend
        path = theirs or (LATENT_ATTENTION if attn_selector_config.use_mla else ATTENTION)
        register_backend(AttentionBackendEnum.CUSTOM, path)
        configuration.check_attention(AttentionBackendEnum.CUSTOM, selected_backend, attn_selector_config)
        return path

    @classmethod
    def get_mla_prefill_backend_cls(cls, mla_selector_config: Any) -> type:
        """vLLM makes one for each layer. It is never called: see `attention.latent`."""
        from vllm.v1.attention.backends.mla.prefill.registry import MLAPrefillBackendEnum

        return cast("type", MLAPrefillBackendEnum.CPU.get_class())

    @classmethod
    def get_compile_backend(cls) -> str:
        return configuration.COMPILER

    @classmethod
    def use_custom_op_collectives(cls) -> bool:
        """Where models are compiled, so that they can be taken apart there: see `configuration.OPAQUE`."""
        from vllm.config import CompilationMode, get_current_vllm_config_or_none

        config = get_current_vllm_config_or_none()
        return config is not None and bool(config.compilation_config.mode == CompilationMode.VLLM_COMPILE)

    @classmethod
    def opaque_attention_op(cls) -> bool:
        return True

    @classmethod
    def import_kernels(cls) -> None:
        """vLLM's own kernels are for other devices."""

    @classmethod
    def import_ir_kernels(cls) -> None:
        ir.register(cls.device_type)

    @classmethod
    def get_default_ir_op_priority(cls, vllm_config: VllmConfig) -> IrOpPriorityConfig:
        return ir.priorities(cls.device_type, vllm_config)

    @classmethod
    def register_triton_kernel_overrides(cls) -> None:
        kernels.register()

    @classmethod
    def get_punica_wrapper(cls) -> str:
        return PUNICA

    # The device

    @classmethod
    def get_device_name(cls, device_id: int = 0) -> str:
        return device.current().title

    @classmethod
    def get_device_total_memory(cls, device_id: int = 0) -> int:
        """vLLM's larger default batches depend on it; it asks in the process that starts the server, too."""
        here = device.current()
        if here.spec.exclusive:
            raise NotImplementedError(f"asking {here.title} for its memory would open it in this process, for good")
        return memory.there(int(torch.accelerator.get_memory_info(device_id)[1]), here.simulated)

    @classmethod
    def get_current_memory_usage(cls, device: Any = None) -> float:
        return float(torch.accelerator.memory_allocated(device))

    @classmethod
    def set_device(cls, device: torch.device) -> None:
        torch.accelerator.set_device_index(device)

    @classmethod
    def manual_seed_all(cls, seed: int) -> None:
        getattr(torch, cls.device_type).manual_seed_all(seed)

    @classmethod
    def check_if_supports_dtype(cls, dtype: torch.dtype) -> None:
        configuration.check_dtype(dtype, device.current())

    @classmethod
    def is_pin_memory_available(cls) -> bool:
        return False

    @classmethod
    def get_device_communicator_cls(cls) -> str:
        from vllm.config import get_current_vllm_config  # vllm.config asks for the platform while it is imported

        return device.current().parts(get_current_vllm_config()).communicator or COMMUNICATOR
