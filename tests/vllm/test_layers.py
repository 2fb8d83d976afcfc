"""Layers of vLLM's that are replaced: by a vendor's own, and by accelplug's over its fused operators."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from accelplug_vllm.layers import replacing
from vllm.config import VllmConfig, set_current_vllm_config
from vllm.model_executor.custom_op import op_registry_oot
from vllm.model_executor.layers.activation import SiluAndMul
from vllm.model_executor.layers.rotary_embedding import RotaryEmbedding

from accelplug.errors import BackendError

ASKED_BY = "hook accelplug_layers of acme"


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test replaces is vLLM's again after it."""
    before, origins = dict(op_registry_oot), dict(replacing._origins)
    with set_current_vllm_config(VllmConfig()):
        yield
    for there, was in ((op_registry_oot, before), (replacing._origins, origins)):
        there.clear()
        there.update(was)


def doubled(layer: type) -> type:
    class Doubled(layer):  # type: ignore[misc, valid-type]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = 2 * self.forward_native(x)
            return result

    return Doubled


def tripled(layer: type) -> type:
    return type("Tripled", (layer,), {"forward": lambda self, x: 3 * self.forward_native(x)})


def test_a_vendors_layer_stands_in_the_models() -> None:
    running = replacing.replace("cpu", {"SiluAndMul": doubled}, ASKED_BY)
    x = torch.randn(3, 8)
    torch.testing.assert_close(SiluAndMul()(x), 2 * SiluAndMul.forward_native(x))
    assert running["SiluAndMul"] == (f"{__name__}.doubled",)


def test_it_is_switched_by_the_name_that_vllm_has_for_the_layer() -> None:
    replacing.replace("cpu", {"SiluAndMul": doubled}, ASKED_BY)
    assert type(SiluAndMul()).name == "silu_and_mul"  # type: ignore[attr-defined]


def test_a_second_time_nothing_changes() -> None:
    replacing.replace("cpu", {"SiluAndMul": doubled}, ASKED_BY)
    there = dict(op_registry_oot)
    replacing.replace("cpu", {"SiluAndMul": doubled}, ASKED_BY)
    assert op_registry_oot == there


def test_two_replacements_of_a_layer_are_a_conflict_that_names_both() -> None:
    replacing.replace("cpu", {"SiluAndMul": doubled}, ASKED_BY)
    with pytest.raises(BackendError, match=r"SiluAndMul has two replacements, .*doubled and .*tripled"):
        replacing.replace("cpu", {"SiluAndMul": tripled}, ASKED_BY)


def test_a_misspelt_layer_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(BackendError, match=rf"{ASKED_BY} names 'SiluAndMull', .*; did you mean 'SiluAndMul'\?"):
        replacing.replace("cpu", {"SiluAndMull": doubled}, ASKED_BY)


def test_what_is_no_subclass_is_refused() -> None:
    with pytest.raises(BackendError, match="can't stand for vLLM's layer SiluAndMul: it must be a subclass of it"):
        replacing.replace("cpu", {"SiluAndMul": lambda layer: torch.nn.ReLU}, ASKED_BY)


def test_a_linear_layer_can_be_replaced_too() -> None:
    replacing.replace("cpu", {"QKVParallelLinear": lambda layer: type("Mine", (layer,), {})}, ASKED_BY)
    assert op_registry_oot["QKVParallelLinear"].__name__ == "Mine"


def test_layers_that_differ_in_their_angles_only_are_replaced_with_their_base() -> None:
    running = replacing.replace("cpu", {}, ASKED_BY)
    assert {"SiluAndMul", "RotaryEmbedding", "Llama3RotaryEmbedding", "YaRNScalingRotaryEmbedding"} <= {*running}
    assert "MRotaryEmbedding" not in running, "it computes otherwise"
    assert running["SiluAndMul"] == ("accelplug::silu_and_mul",), "there are no kernels on this device"


def test_only_layers_that_a_model_has_are_reported() -> None:
    running = replacing.replace("cpu", {}, ASKED_BY)
    model = torch.nn.Sequential(SiluAndMul())
    assert [*replacing.in_use(running, model.modules())] == ["SiluAndMul"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_silu_and_mul_is_vllms(dtype: torch.dtype) -> None:
    replacing.replace("cpu", {}, ASKED_BY)
    x = torch.randn(3, 8).to(dtype)
    torch.testing.assert_close(SiluAndMul().forward_oot(x), SiluAndMul.forward_native(x), atol=0, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("neox", [True, False], ids=["halves", "neighbours"])
@pytest.mark.parametrize("rotary_dim", [8, 4], ids=["whole heads", "half of a head"])
def test_rotary_embedding_is_vllms(rotary_dim: int, neox: bool, dtype: torch.dtype) -> None:
    replacing.replace("cpu", {}, ASKED_BY)
    layer = RotaryEmbedding(8, rotary_dim, 32, 10000.0, neox, dtype)
    positions = torch.tensor([3, 0, 17, 4])
    qkv = torch.randn(4, 6 * 8).to(dtype)
    query, key = qkv[:, :32], qkv[:, 32:]  # slices of one product, as in models
    found, expected = layer.forward_oot(positions, query, key), layer.forward_native(positions, query, key)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs, atol=0, rtol=0)
    assert layer.forward_oot(positions, query)[1] is None, "some models share keys between layers"
