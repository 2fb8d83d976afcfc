"""What ``accelplug serve`` puts into the environment, and what it refuses before vLLM starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from accelplug_vllm import launch

from accelplug.errors import BadInputError
from accelplug.specs import Candidate, Host, Verdict
from tests.vllm.conftest import InstallPlugin

CPU = Candidate(name="cpu", title="CPU", verdict=Verdict.usable, reason="there", torch_type="cpu")
CUDA = CPU.model_copy(update={"name": "cuda", "torch_type": "cuda"})


def host(tmp_path: Path, **environ: str) -> Host:
    for path in ("usr/lib64/libtcmalloc_minimal.so.4", "site/torch/__init__.py", "site/torch/lib/libgomp.so.1"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    return Host(tmp_path, environ=environ, site=[tmp_path / "site"])


def serve(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "accelplug", "serve", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_on_the_cpu_the_allocator_and_openmp_are_preloaded(tmp_path: Path) -> None:
    found = launch.environment_for(CPU, host(tmp_path, LD_PRELOAD="/mine.so"))
    assert found["LD_PRELOAD"].split(":")[0] == "/usr/lib64/libtcmalloc_minimal.so.4"
    assert "libgomp" in found["LD_PRELOAD"].split(":")[1]
    assert found["LD_PRELOAD"].endswith(":/mine.so")


def test_what_the_user_preloads_is_not_doubled(tmp_path: Path) -> None:
    assert launch.environment_for(CPU, host(tmp_path, LD_PRELOAD="/x/libiomp5.so:/y/libtcmalloc.so")) == {}


def test_other_devices_need_nothing(tmp_path: Path) -> None:
    assert launch.environment_for(CUDA, host(tmp_path)) == {}


def test_packages_that_would_claim_the_platform_for_another_device_are_kept_out(install_plugin: InstallPlugin) -> None:
    install_plugin("spyre_inference", "spyre-inference")
    install_plugin("ascend", "vllm-ascend")
    allowed = launch.plugins_for(CPU, Host(environ={})).split(",")
    assert "spyre_inference" not in allowed
    assert {"accelplug", "accelplug_general", "ascend"} <= set(allowed)


def test_the_devices_own_package_is_kept_out_where_accelplugs_platform_is_asked_for(
    install_plugin: InstallPlugin,
) -> None:
    install_plugin("pace", "pace-vllm")
    assert launch.plugins_for(CPU, Host(environ={})) == ""
    allowed = launch.plugins_for(CPU, Host(environ={"ACCELPLUG_VLLM_PLATFORM": "accelplug"})).split(",")
    assert "pace" not in allowed
    assert "accelplug" in allowed


def test_a_users_own_allow_list_is_kept(install_plugin: InstallPlugin) -> None:
    install_plugin("spyre_inference", "spyre-inference")
    assert launch.plugins_for(CPU, Host(environ={"VLLM_PLUGINS": "accelplug"})) == ""


def test_without_rivals_nothing_is_restricted() -> None:
    assert launch.plugins_for(CPU, Host(environ={})) == ""


def test_an_unusable_device_is_refused_before_vllm_starts() -> None:
    done = serve("some-model", "--device", "neuron")
    assert done.returncode == 1
    assert "no_hardware" in done.stderr


def test_a_misspelt_device_is_bad_input() -> None:
    done = serve("some-model", "--device", "nuron")
    assert done.returncode == 2
    assert "did you mean 'neuron'" in done.stderr


def test_flag_and_variable_that_disagree_are_both_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELPLUG_DEVICE", "cuda")
    done = serve("some-model", "--device", "cpu")
    assert done.returncode == 2
    assert "--device cpu and ACCELPLUG_DEVICE=cuda" in done.stderr


def test_a_folder_for_traces_is_made_and_becomes_vllm_s_options(tmp_path: Path) -> None:
    assert launch.profiler_options(None) == []
    options = launch.profiler_options(tmp_path / "new" / "traces")
    assert (tmp_path / "new" / "traces").is_dir()
    assert options[:2] == ["--profiler-config.profiler", "torch"]
    assert options[options.index("--profiler-config.torch_profiler_dir") + 1] == str(tmp_path / "new" / "traces")


def test_a_folder_for_traces_that_can_not_be_made_is_an_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInputError, match=rf"--trace-dir {tmp_path}/file/x can't be made: Not a directory"):
        launch.profiler_options(tmp_path / "file" / "x")
