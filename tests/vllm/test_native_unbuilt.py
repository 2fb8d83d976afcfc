"""What accelplug has not built, for options that only some models, or some versions of vLLM, have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from accelplug_vllm.native.unbuilt import UNBUILT
from vllm.v1.attention.backends.registry import AttentionBackendEnum


def configuration(**multimodal: Any) -> Any:
    """Of an older vLLM, which has the oldest options only."""
    model = SimpleNamespace(
        is_hybrid=False, is_attention_free=False, is_moe=False, multimodal_config=SimpleNamespace(**multimodal)
    )
    return SimpleNamespace(
        model_config=model,
        lora_config=None,
        quant_config=None,
        load_config=SimpleNamespace(load_format="auto"),
        cache_config=SimpleNamespace(cache_dtype="auto"),
        parallel_config=SimpleNamespace(data_parallel_size=1, enable_dbo=False),
    )


def asked(config: Any) -> list[str]:
    return [option.flag for option in UNBUILT if option.asks(config)]


def test_an_option_that_the_installed_vllm_lacks_is_asked_for_by_nobody() -> None:
    assert asked(configuration()) == []


def test_encoders_of_images_have_one_attention() -> None:
    assert asked(configuration(mm_encoder_attn_backend=AttentionBackendEnum.TORCH_SDPA)) == []
    config = configuration(mm_encoder_attn_backend=AttentionBackendEnum.FLASH_ATTN, mm_encoder_attn_dtype="fp8")
    assert asked(config) == ["--mm-encoder-attn-backend", "--mm-encoder-attn-dtype"]
