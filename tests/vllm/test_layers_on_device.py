"""Single layers on a device: what may be asked for, and what is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import programs
import pytest
from accelplug_vllm.layers import host, wrapping
from accelplug_vllm.native import options
from vllm.config import CompilationMode

from accelplug.errors import AccelplugError, BackendError, BadInputError
from accelplug.sim import build


def config(layers: Any, worker: str = host.CPU_WORKER) -> Any:
    return SimpleNamespace(
        additional_config={"accelplug": {"layers_on_device": layers}},
        parallel_config=SimpleNamespace(worker_cls=worker),
        compilation_config=SimpleNamespace(mode=CompilationMode.VLLM_COMPILE),
    )


def test_the_worker_is_one_that_wraps_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELPLUG_SIMULATE", "spyre")
    wanted = config(["RMSNorm", "SiluAndMul"])
    assert host.apply(wanted, "cpu") == ["RMSNorm, SiluAndMul on spyre (simulated), op by op"]
    assert wanted.parallel_config.worker_cls == host.WORKER
    assert wanted.compilation_config.mode == CompilationMode.NONE
    assert host.apply(wanted, "cpu"), "vLLM asks several times"


def test_without_the_option_nothing_changes() -> None:
    wanted = config([])
    assert host.apply(wanted, "cpu") == []
    assert wanted.parallel_config.worker_cls == host.CPU_WORKER


def test_where_the_whole_model_is_on_a_device_it_is_refused() -> None:
    with pytest.raises(BadInputError, match="the whole model is on neuron; with --device cpu"):
        host.apply(config(["RMSNorm"]), "neuron")


def test_without_a_device_it_is_refused_with_the_verdicts() -> None:
    with pytest.raises(AccelplugError, match=r"no device that layers could be on is usable: .*spyre: no_"):
        host.apply(config(["RMSNorm"]), "cpu")


def test_a_worker_of_ones_own_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELPLUG_SIMULATE", "spyre")
    with pytest.raises(BadInputError, match=r"leave --worker-cls my\.Worker out"):
        host.apply(config(["RMSNorm"], "my.Worker"), "cpu")


def test_a_misspelt_layer_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(BackendError, match=r"layers_on_device names 'RMSNrom', .*did you mean 'RMSNorm'\?"):
        wrapping.wrap(["RMSNrom"], "cpu")


def test_a_layer_whose_weights_vllm_prepares_for_the_cpu_is_refused_with_those_that_can_be() -> None:
    with pytest.raises(BadInputError, match=r"RowParallelLinear can't be on the device by itself.*RMSNorm"):
        wrapping.wrap(["RowParallelLinear"], "cpu")


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"layers_on_devise": []}, "unknown key 'layers_on_devise'; did you mean 'layers_on_device'"),
        ({"layers_on_device": "RMSNorm"}, "layers_on_device: 'RMSNorm'"),
        ("RMSNorm", "'RMSNorm' is no object"),
    ],
)
def test_a_mistake_in_the_option_is_named(given: object, complaint: str) -> None:
    with pytest.raises(BadInputError, match=complaint):
        options.read({"accelplug": given})


def test_wrapped_layers_compute_on_the_device_what_vllms_compute_on_the_cpu(tmp_path: Path) -> None:
    build.library()
    environ = {"ACCELPLUG_DEVICE": "cpu", "ACCELPLUG_SIMULATE": "neuron"}
    said, _ = programs.run("wrapped_layers.py", cwd=tmp_path, **environ)
    assert said["runs"]["RMSNorm"][0] == "nki/rms_norm_isa"
    assert said["runs"]["GeluAndMul"] == ["vLLM's operators on neuron"]
    assert {"nki/rms_norm_isa", "nki/silu_and_mul_isa", "nki/rotary_embedding_tile"} <= {*said["kernels"]}
    assert said["to_device"] == 2 + 3 + 1 + 1 + 1, "what the calls take, and no weights"
    assert said["to_host"] == 2 + 2 + 1 + 1 + 1, "what they give"
