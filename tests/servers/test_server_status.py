"""A server's status from its metrics: numbers of a real one, and the corners of made-up ones."""

from __future__ import annotations

import pytest

from accelplug.servers.exposition import parsed
from accelplug.servers.status import ServerStatus, status

INFO = (
    'accelplug_device_info{decided_by="priority",device="neuron",platform="accelplug",simulated="true",'
    'torch_type="neuron",version="0.1.0"} 1.0\n'
)


def of(before: str, now: str, seconds: float = 2.0) -> ServerStatus:
    return status("http://box", parsed(before), parsed(now), seconds)


def test_a_real_server_on_a_simulated_device(recorded: tuple[str, str]) -> None:
    now = of(*recorded)
    assert (now.device, now.simulated, now.decided_by) == ("neuron", True, "ACCELPLUG_SIMULATE")
    assert now.models == ("model",)
    assert now.generation_tokens_per_second
    assert now.native_share is not None
    assert 0 < now.native_share <= 1
    assert "aten::exponential_" in {row.op for row in now.fallbacks}
    assert [row.bytes for row in now.fallbacks] == sorted((row.bytes for row in now.fallbacks), reverse=True)


def test_a_vllm_without_accelplug_has_its_own_numbers_and_no_device() -> None:
    now = of(
        "",
        'vllm:num_requests_running{engine="0",model_name="m"} 3.0\nvllm:kv_cache_usage_perc{engine="0"} 0.25\n',
    )
    assert (now.device, now.running, now.kv_cache_usage, now.models) == (None, 3, 0.25, ("m",))
    assert (now.native_share, now.compiles, now.generation_tokens_per_second) == (None, None, None)


def test_engines_are_added_up_and_the_fullest_cache_is_shown() -> None:
    text = "".join(
        f'vllm:num_requests_waiting{{engine="{engine}"}} 2.0\n'
        f'vllm:kv_cache_usage_perc{{engine="{engine}"}} 0.{engine}\n'
        for engine in (3, 7)
    )
    assert (of("", text).waiting, of("", text).kv_cache_usage) == (4, 0.7)


@pytest.mark.parametrize(("before", "rate"), [(100, 25.0), (150, 0.0), (1000, 75.0)])
def test_a_rate_is_what_was_added_a_second_and_a_restart_begins_at_0(before: int, rate: float) -> None:
    text = "vllm:generation_tokens_total {}\n"
    assert of(text.format(before), text.format(150)).generation_tokens_per_second == rate


def test_a_kernel_s_calls_are_the_device_s_own() -> None:
    text = (
        INFO
        + 'accelplug_native_calls_total{device="neuron:0"} 6.0\n'
        + 'accelplug_kernel_calls_total{device="neuron",kernel="nki/mm",op="aten::mm",provider="nki"} 3.0\n'
        + 'accelplug_fallback_calls_total{device="neuron:0",op="aten::cumsum"} 1.0\n'
    )
    assert of("", text).native_share == 0.9
    assert [(row.kernel, row.calls, row.calls_per_second) for row in of("", text).kernels] == [("nki/mm", 3, 1.5)]


def test_copies_per_step_are_those_within_steps() -> None:
    text = (
        'accelplug_step_transfers_total{{device="neuron",direction="to_device"}} {0}\n'
        'accelplug_step_transfers_total{{device="neuron",direction="to_host"}} {1}\n'
        'accelplug_transfers_total{{device="neuron",direction="to_device"}} 900\n'
        'accelplug_steps_total{{device="neuron"}} {1}\n'
    )
    now = of(text.format(10, 100), text.format(25, 110))
    assert (now.steps, now.to_device_per_step, now.to_host_per_step) == (110, 1.5, 1.0)
    assert of(text.format(10, 100), text.format(10, 100)).to_device_per_step is None, "no step, no number"


def test_padding_and_compiles() -> None:
    text = (
        'accelplug_bucket_elements_total{kind="real",part="prefill"} 75\n'
        'accelplug_bucket_elements_total{kind="padding",part="prefill"} 25\n'
        'accelplug_bucket_hits_total{bucket="64",part="prefill"} 2\n'
        'accelplug_bucket_hits_total{bucket="8",part="decode"} 9\n'
        'accelplug_compiles_total{part="prefill",when="warm-up"} 5\n'
        'accelplug_compiles_total{part="prefill",when="service"} 1\n'
    )
    now = of("", text)
    assert (now.padding_share, now.compiles, now.compiles_in_service) == (0.25, 6, 1)
    assert [(row.part, row.bucket, row.hits) for row in now.buckets] == [("decode", "8", 9), ("prefill", "64", 2)]
