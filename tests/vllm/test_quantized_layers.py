"""Quantised linear layers through accelplug's kernel: beside weights written out, and in checkpoints vLLM loads."""

from __future__ import annotations

from typing import Any

import programs
import pytest
import torch
from accelplug_vllm.layers import quantized
from accelplug_vllm.layers.quantized import WeightOnlyLinear
from vllm.model_executor.kernels import linear
from vllm.model_executor.kernels.linear import MPLinearLayerConfig
from vllm.model_executor.layers.quantization import auto_gptq
from vllm.platforms import PlatformEnum
from vllm.scalar_type import ScalarType, scalar_types

from accelplug.errors import BackendError
from accelplug.sim import build
from tools.support.runs import DEVICES, OFFLINE, ROOT

OUTPUTS, INPUTS, GROUP = 16, 64, 32


def integers(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(high + len(shape)))


def packed(values: torch.Tensor, bits: int) -> torch.Tensor:
    """Along the last dimension, the first value in the lowest bits of an int32."""
    words = values.unflatten(-1, (-1, 32 // bits)) << torch.arange(0, 32, bits)
    return words.sum(-1).to(torch.int32)


def config(weight_type: ScalarType, *, zeros: bool = False, inputs: int = INPUTS) -> MPLinearLayerConfig:
    shape = (inputs, OUTPUTS)
    return MPLinearLayerConfig(shape, shape, weight_type, torch.float32, group_size=GROUP, zero_points=zeros)


def parameter(data: torch.Tensor, **where: int) -> torch.nn.Parameter:
    """With what vLLM's own parameters say of their dimensions."""
    made = torch.nn.Parameter(data, requires_grad=False)
    for name, dimension in where.items():
        setattr(made, name, dimension)
    return made


def compressed(values: torch.Tensor, scales: torch.Tensor, zeros: torch.Tensor | None, bits: int) -> torch.nn.Module:
    """The parameters of vLLM's layer as they are when the checkpoint is loaded: rows are outputs."""
    layer, along = torch.nn.Module(), {"input_dim": 1, "output_dim": 0}
    layer.weight = parameter(packed(values, bits), packed_dim=1, **along)
    layer.scale = parameter(scales, **along)
    if zeros is not None:
        layer.zero = parameter(packed(zeros.t(), bits).t(), packed_dim=0, **along)
    return layer


def gptq(values: torch.Tensor, scales: torch.Tensor, bits: int) -> torch.nn.Module:
    """Likewise: columns are outputs, and there are zeros that mean nothing."""
    layer, along = torch.nn.Module(), {"input_dim": 0, "output_dim": 1}
    layer.weight = parameter(packed(values, bits).t().contiguous(), packed_dim=0, **along)
    layer.scale = parameter(scales.t().contiguous(), **along)
    layer.zero = parameter(torch.zeros(INPUTS // GROUP, OUTPUTS * bits // 32, dtype=torch.int32))
    return layer


@pytest.mark.parametrize("form", ["compressed-tensors", "compressed-tensors with zeros", "gptq"])
@pytest.mark.parametrize("bits", [4, 8])
def test_it_computes_what_the_checkpoint_stands_for(bits: int, form: str) -> None:
    groups = INPUTS // GROUP
    values, scales = integers(2**bits, OUTPUTS, INPUTS), torch.rand(OUTPUTS, groups) + 0.1
    zeros = integers(2**bits, OUTPUTS, groups) if form.endswith("zeros") else None
    kinds = {
        4: (scalar_types.uint4b8, scalar_types.uint4),
        8: (scalar_types.uint8b128, scalar_types.uint8),
    }
    asked = config(kinds[bits][zeros is not None], zeros=zeros is not None)
    kernel = WeightOnlyLinear(asked, "weight", "scale", "zero")
    layer = gptq(values, scales, bits) if form == "gptq" else compressed(values, scales, zeros, bits)
    kernel.process_weights_after_loading(layer)

    middles = torch.full((OUTPUTS, groups), 2 ** (bits - 1)) if zeros is None else zeros
    weights = (values - middles.repeat_interleave(GROUP, 1)) * scales.repeat_interleave(GROUP, 1)
    x, bias = torch.randn(2, 3, INPUTS), torch.randn(OUTPUTS)
    torch.testing.assert_close(kernel.apply_weights(layer, x, bias), x @ weights.t() + bias)
    assert layer.weight.numel() == OUTPUTS * INPUTS * bits // 8, "no more memory than the checkpoint's"


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (config(scalar_types.float8_e4m3fn), "not unsigned integers of 4 or 8 bits"),
        (config(scalar_types.uint2b2), "not unsigned integers of 4 or 8 bits"),
        (config(scalar_types.uint4b8, inputs=48), "48 inputs don't fill words of 32 bits, or groups of 32"),
    ],
)
def test_what_it_does_not_take_it_declines_with_the_reason(asked: MPLinearLayerConfig, why: str) -> None:
    able, reason = WeightOnlyLinear.can_implement(asked)
    assert not able
    assert why in (reason or "")


class VendorsLinear(WeightOnlyLinear):
    """As a vendor would bring one."""


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM's tables, which the test may change."""
    for table in (linear._POSSIBLE_KERNELS, linear._POSSIBLE_INT8_KERNELS):
        monkeypatch.setitem(table, PlatformEnum.OOT, [])
    monkeypatch.setattr(auto_gptq, "verify_marlin_supported", auto_gptq.verify_marlin_supported)


@pytest.mark.usefixtures("tables")
def test_a_vendors_kernels_come_before_accelplugs() -> None:
    name = f"{__name__}.VendorsLinear"
    quantized.register.__wrapped__((("mp", (name,)), ("int8", (name,))), "hook accelplug_platform of acme")
    tried = [kernel.__name__ for kernel in linear._POSSIBLE_KERNELS[PlatformEnum.OOT]]
    assert tried == ["VendorsLinear", "WeightOnlyLinear"]
    assert [kernel.__name__ for kernel in linear._POSSIBLE_INT8_KERNELS[PlatformEnum.OOT]] == ["VendorsLinear"]


@pytest.mark.usefixtures("tables")
def test_a_kernel_that_is_not_there_is_an_error_that_names_the_hook() -> None:
    with pytest.raises(
        BackendError, match=r"hook accelplug_platform of acme names 'acme_vllm.Linear' .* 'fp8': No mod"
    ):
        quantized.register.__wrapped__((("fp8", ("acme_vllm.Linear",)),), "hook accelplug_platform of acme")


TWINS = {"compressed4:float32": "twin:float32", "compressed8:float32": "twin:float32", "gptq:float16": "twin:float16"}
LAYERS = [f"{name}, quantised" for name in ("QKVParallelLinear", "RowParallelLinear", "MergedColumnParallelLinear")]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Checkpoints loaded by vLLM on a simulated device whose backend refuses nothing, all in one process."""
    build.library()
    folder = tmp_path_factory.mktemp("quantised")
    environ = {**OFFLINE, **DEVICES["unlimited"], "PYTHONPATH": str(ROOT)}
    models = [*TWINS, *dict.fromkeys(TWINS.values())]
    found, _ = programs.run("quantised_models_on_device.py", str(folder), *models, cwd=ROOT, **environ)
    return dict(found)


@pytest.mark.parametrize(("model", "twin"), TWINS.items())
def test_a_checkpoint_computes_what_its_numbers_do_in_floating_point(
    model: str, twin: str, loaded: dict[str, Any]
) -> None:
    exact = 1e-5 if "float32" in model else 1e-3
    for layer in ("qkv", "down"):
        assert loaded[model][layer] == pytest.approx(loaded[twin][layer], abs=exact, rel=exact)


def test_the_report_says_what_runs_its_layers(loaded: dict[str, Any]) -> None:
    for model, twin in TWINS.items():
        assert loaded[model]["runs"] == {layer: ["accelplug::quantized_linear"] for layer in LAYERS}
        assert loaded[twin]["runs"] == {}
