"""Which quantised models run on a device, and what is said of the others when a server would start."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from accelplug_vllm.native import quantization
from vllm.model_executor.layers.quantization.compressed_tensors.compressed_tensors import CompressedTensorsConfig

from accelplug.specs import Capabilities, PlatformSpec

INT4 = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": 32}
INT8 = {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel"}
FP8 = {"num_bits": 8, "type": "float", "symmetric": True, "strategy": "channel"}
PER_TOKEN = {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "token", "dynamic": True}


def checkpoint(form: str, *groups: dict[str, Any]) -> CompressedTensorsConfig:
    """As ``quantization_config`` in a checkpoint's config.json says it."""
    named = {f"group_{number}": {"targets": [f"re:{number}"], **group} for number, group in enumerate(groups)}
    return CompressedTensorsConfig.from_config({"format": form, "config_groups": named})


def asked(method: str, config: Any = None, moe: bool = False) -> Any:
    return SimpleNamespace(model_config=SimpleNamespace(quantization=method, is_moe=moe), quant_config=config)


def device(allowed: tuple[str, ...] | None = None, kernels: dict[str, tuple[str, ...]] | None = None) -> Any:
    parts = PlatformSpec.model_validate({"linear_kernels": kernels or {}})
    return SimpleNamespace(capabilities=Capabilities(quantization=allowed), parts=lambda config: parts)


RUNS = "it runs compressed-tensors with weights of 4 or 8 bits and gptq with weights of 4 or 8 bits"


@pytest.mark.parametrize("weights", [INT4, INT8], ids=["4 bits", "8 bits"])
def test_weights_of_few_bits_run_on_a_device_that_says_nothing_of_it(weights: dict[str, Any]) -> None:
    config = checkpoint("pack-quantized", {"weights": weights})
    assert quantization.why_not(asked("compressed-tensors", config), device()) == ""
    assert quantization.why_not(asked("auto_gptq"), device()) == ""


@pytest.mark.parametrize(
    ("method", "config", "why"),
    [
        ("fp8", None, "and this is fp8"),
        (
            "compressed-tensors",
            checkpoint("int-quantized", {"weights": INT8, "input_activations": PER_TOKEN}),
            "and this has int weights of 8 bits as int-quantized and quantised input_activations",
        ),
        (
            "compressed-tensors",
            checkpoint("pack-quantized", {"weights": INT4}, {"weights": FP8, "format": "float-quantized"}),
            "and this has float weights of 8 bits as float-quantized",
        ),
    ],
    ids=["another method", "quantised activations", "one kind of layer of two"],
)
def test_what_has_no_kernel_is_refused_with_what_runs(method: str, config: Any, why: str) -> None:
    assert quantization.why_not(asked(method, config), device()) == f"{RUNS}, {why}"


def test_quantised_experts_have_no_kernel() -> None:
    said = quantization.why_not(asked("auto_gptq", moe=True), device())
    assert said == f"{RUNS}, and no quantised experts"


def test_what_the_vendor_allows_narrows_it() -> None:
    here = device(allowed=("gptq_marlin",))
    assert quantization.why_not(asked("auto_gptq"), here) == ""
    said = quantization.why_not(asked("compressed-tensors"), here)
    assert said == "it runs gptq with weights of 4 or 8 bits, and this is compressed-tensors"


def test_what_the_vendor_allows_without_a_kernel_does_not_run() -> None:
    said = quantization.why_not(asked("modelopt"), device(allowed=("modelopt",)))
    assert said == (
        "it runs no quantised model (its backend allows modelopt, and accelplug has kernels for compressed-tensors and "
        "gptq), and this is modelopt"
    )


def test_with_kernels_of_the_vendors_what_it_allows_runs() -> None:
    here = device(allowed=("modelopt", "compressed-tensors"), kernels={"fp8": ("acme_vllm.Fp8Linear",)})
    assert quantization.why_not(asked("modelopt"), here) == ""
    assert (
        quantization.why_not(asked("compressed-tensors", checkpoint("float-quantized", {"weights": FP8})), here) == ""
    )
    assert quantization.why_not(asked("auto_gptq"), here) == (
        "it runs modelopt and compressed-tensors with weights of 4 or 8 bits, and this is auto_gptq"
    )
