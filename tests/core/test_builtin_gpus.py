"""The built-in GPU backends tell their verdict from files alone, on trees that look like machines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gpu_trees
import pytest

from accelplug.builtin import accelerator, cpu, cuda
from accelplug.builtin.visible import cuda_style, level_zero_style
from accelplug.specs import Host, Probe, Verdict

STRANGER = 54321


@pytest.fixture
def cuda_torch(tmp_path: Path) -> Path:
    return gpu_trees.torch_site(tmp_path / "site", "libtorch_cuda.so", version="2.13.0+cu130")


def look(probe: Callable[[Host], Probe], root: Path, site: Path, uid: int = 0, **environ: str) -> Probe:
    return probe(Host(root, environ=environ, site=[site], system="Linux", machine="x86_64", uid=uid, groups=[]))


# NVIDIA


def test_cuda_is_usable_where_nodes_driver_and_torch_are(tmp_path: Path, cuda_torch: Path) -> None:
    found = look(cuda.probe, gpu_trees.nvidia(tmp_path / "box"), cuda_torch)

    assert (found.verdict, found.count, found.reason) == (Verdict.usable, 2, "2 NVIDIA GPUs")
    assert found.details == {"driver": "580.65.06", "models": "NVIDIA H200, NVIDIA H200"}
    assert "/dev/nvidia0, /dev/nvidia1" in found.evidence[0]
    assert "/usr/lib/x86_64-linux-gnu/libcuda.so.1" in found.evidence[1]


@pytest.mark.parametrize("value", ["", "-1", "7", "0,0", "none", "²"])
def test_cuda_is_hidden_by_a_variable_that_names_no_device(tmp_path: Path, cuda_torch: Path, value: str) -> None:
    found = look(cuda.probe, gpu_trees.nvidia(tmp_path / "box"), cuda_torch, CUDA_VISIBLE_DEVICES=value)

    assert found.verdict is Verdict.hidden
    assert f"all hidden by CUDA_VISIBLE_DEVICES={value!r}" in found.reason
    assert "unset CUDA_VISIBLE_DEVICES" in found.remedy


@pytest.mark.parametrize(
    ("value", "count"), [("1", 1), ("1,0", 2), ("0,7,1", 1), ("GPU-8932f937", 1), ("MIG-1c92, MIG-7f01", 2)]
)
def test_cuda_counts_what_the_variable_leaves(tmp_path: Path, cuda_torch: Path, value: str, count: int) -> None:
    found = look(cuda.probe, gpu_trees.nvidia(tmp_path / "box"), cuda_torch, CUDA_VISIBLE_DEVICES=value)

    assert (found.verdict, found.count) == (Verdict.usable, count)


def test_cuda_counts_the_nodes_of_a_container_whatever_their_numbers(tmp_path: Path, cuda_torch: Path) -> None:
    box = gpu_trees.nvidia(tmp_path / "box", gpus=4)
    for gpu in (0, 1, 2):
        (box / f"dev/nvidia{gpu}").unlink()

    assert look(cuda.probe, box, cuda_torch).count == 1


def test_cuda_without_permission_is_a_driver_matter(tmp_path: Path, cuda_torch: Path) -> None:
    box = gpu_trees.nvidia(tmp_path / "box")
    for node in ("nvidia0", "nvidia1"):
        (box / "dev" / node).chmod(0o600)

    found = look(cuda.probe, box, cuda_torch, uid=STRANGER)
    assert found.verdict is Verdict.no_driver
    assert "no permission to open /dev/nvidia0" in found.reason


def test_cuda_counts_only_gpus_that_this_user_may_open(tmp_path: Path, cuda_torch: Path) -> None:
    box = gpu_trees.nvidia(tmp_path / "box")
    (box / "dev/nvidia0").chmod(0o600)

    found = look(cuda.probe, box, cuda_torch, uid=STRANGER)
    assert (found.count, found.reason) == (1, "1 NVIDIA GPU of 2")


def test_cuda_without_libcuda_has_no_driver(tmp_path: Path, cuda_torch: Path) -> None:
    box = gpu_trees.nvidia(tmp_path / "box")
    (box / "usr/lib/x86_64-linux-gnu/libcuda.so.1").unlink()

    found = look(cuda.probe, box, cuda_torch)
    assert found.verdict is Verdict.no_driver
    assert "libcuda.so.1" in found.reason
    assert "container toolkit" in found.remedy


@pytest.mark.parametrize(
    "place", ["/opt/driver/libcuda.so.1", "/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1", "/etc/ld.so.cache"]
)
def test_cuda_finds_libcuda_where_the_linker_would(tmp_path: Path, cuda_torch: Path, place: str) -> None:
    box = gpu_trees.nvidia(tmp_path / "box")
    (box / "usr/lib/x86_64-linux-gnu/libcuda.so.1").unlink()
    gpu_trees.write(box, {place: "\0libcuda.so.1\0/run/opengl-driver/lib/libcuda.so.1\0"})

    found = look(cuda.probe, box, cuda_torch, LD_LIBRARY_PATH=":/opt/driver")
    assert found.verdict is Verdict.usable
    assert place in found.evidence[1]


def test_a_cpu_build_of_torch_on_a_gpu_box_is_missing_software(tmp_path: Path) -> None:
    found = look(cuda.probe, gpu_trees.nvidia(tmp_path / "box"), gpu_trees.torch_site(tmp_path / "site"))

    assert found.verdict is Verdict.no_software
    assert found.reason == "torch 2.13.0+cpu is not a CUDA build"
    assert "install a CUDA build of torch" in found.remedy


def test_no_torch_on_a_gpu_box_is_missing_software(tmp_path: Path) -> None:
    assert look(cuda.probe, gpu_trees.nvidia(tmp_path / "box"), tmp_path).reason == "torch is not installed"


def test_a_control_node_alone_is_no_gpu(tmp_path: Path, cuda_torch: Path) -> None:
    box = gpu_trees.nvidia(tmp_path / "box", gpus=0)
    assert look(cuda.probe, box, cuda_torch).verdict is Verdict.no_hardware


def test_cuda_in_wsl_is_found_by_its_shared_node(tmp_path: Path, cuda_torch: Path) -> None:
    box = gpu_trees.write(tmp_path / "box", {"/dev/dxg": "", "/usr/lib/wsl/lib/libcuda.so.1": ""})
    assert look(cuda.probe, box, cuda_torch).verdict is Verdict.usable


def test_wsl_without_an_nvidia_driver_has_no_cuda(tmp_path: Path, cuda_torch: Path) -> None:
    box = gpu_trees.write(tmp_path / "box", {"/dev/dxg": ""})
    assert look(cuda.probe, box, cuda_torch).verdict is Verdict.no_hardware


def test_a_jetson_has_one_gpu(tmp_path: Path, cuda_torch: Path) -> None:
    library = "/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1"
    box = gpu_trees.write(tmp_path / "box", {"/dev/nvgpu": "", "/dev/nvhost-gpu": "", library: ""})
    assert look(cuda.probe, box, cuda_torch).count == 1


# AMD, Intel, Apple, CPU


@pytest.fixture
def hip_torch(tmp_path: Path) -> Path:
    return gpu_trees.torch_site(tmp_path / "hip", "libtorch_hip.so", version="2.13.0+rocm7")


def test_rocm_is_usable_where_nodes_driver_and_torch_are(tmp_path: Path, hip_torch: Path) -> None:
    found = look(accelerator.probe_rocm, gpu_trees.amd(tmp_path / "box"), hip_torch)
    assert (found.verdict, found.count, found.reason) == (Verdict.usable, 2, "2 GPUs, ROCm torch")


@pytest.mark.parametrize("variable", ["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"])
def test_rocm_is_hidden_by_any_of_its_variables(tmp_path: Path, hip_torch: Path, variable: str) -> None:
    box = gpu_trees.amd(tmp_path / "box")

    hidden = look(accelerator.probe_rocm, box, hip_torch, **{variable: "-1"})
    assert hidden.verdict is Verdict.hidden
    assert f"{variable}='-1'" in hidden.reason
    assert look(accelerator.probe_rocm, box, hip_torch, **{variable: "1"}).count == 1


def test_rocm_needs_the_compute_node_and_permission(tmp_path: Path, hip_torch: Path) -> None:
    box = gpu_trees.amd(tmp_path / "box")
    (box / "dev/kfd").chmod(0o660)
    shut = look(accelerator.probe_rocm, box, hip_torch, uid=STRANGER)
    assert (shut.verdict, shut.reason) == (Verdict.no_driver, "no permission to open /dev/kfd")
    assert "`render`" in shut.remedy

    (box / "dev/kfd").unlink()
    missing = look(accelerator.probe_rocm, box, hip_torch)
    assert (missing.verdict, missing.reason) == (Verdict.no_driver, "/dev/kfd is missing")


def test_each_vendors_gpus_are_its_own(tmp_path: Path, hip_torch: Path) -> None:
    assert look(accelerator.probe_xpu, gpu_trees.amd(tmp_path / "amd"), hip_torch).verdict is Verdict.no_hardware
    intel = gpu_trees.render(tmp_path / "intel", "0x8086")
    assert look(accelerator.probe_rocm, intel, hip_torch).verdict is Verdict.no_hardware


@pytest.mark.parametrize(("mask", "count"), [(None, 2), ("", 2), ("1", 1), ("0.0,0.1", 1), ("0.1,1.0", 2), ("5", 0)])
def test_xpu_counts_what_the_affinity_mask_leaves(tmp_path: Path, mask: str | None, count: int) -> None:
    site = gpu_trees.torch_site(tmp_path / "site", "libtorch_xpu.so", version="2.13.0+xpu")
    environ = {} if mask is None else {"ZE_AFFINITY_MASK": mask}

    found = look(accelerator.probe_xpu, gpu_trees.render(tmp_path / "box", "0x8086"), site, **environ)
    assert (found.verdict, found.count) == (Verdict.usable if count else Verdict.hidden, count)


def test_a_laptop_with_an_intel_gpu_and_a_cpu_torch_has_no_xpu(tmp_path: Path) -> None:
    box = gpu_trees.render(tmp_path / "box", "0x8086", gpus=1)
    assert look(accelerator.probe_xpu, box, gpu_trees.torch_site(tmp_path / "site")).verdict is Verdict.no_software


def test_mps_is_apple_silicon_with_torch(tmp_path: Path) -> None:
    torch = gpu_trees.torch_site(tmp_path / "site", version="2.13.0")
    mac = {"root": tmp_path, "environ": {}, "system": "Darwin"}

    assert accelerator.probe_mps(Host(**mac, machine="arm64", site=[torch])).verdict is Verdict.usable
    assert accelerator.probe_mps(Host(**mac, machine="arm64", site=[])).verdict is Verdict.no_software
    assert accelerator.probe_mps(Host(**mac, machine="x86_64", site=[torch])).verdict is Verdict.no_hardware


def test_the_cpu_is_always_there_where_torch_is(cpu_only: Host, tmp_path: Path) -> None:
    assert cpu.probe(cpu_only).verdict is Verdict.usable
    assert cpu.probe(cpu_only).details["torch"] == "2.13.0+cpu"
    assert cpu.probe(Host(tmp_path, site=[])).verdict is Verdict.no_software


def test_without_hardware_nothing_is_advised(cpu_only: Host) -> None:
    for probe in (cuda.probe, accelerator.probe_rocm, accelerator.probe_xpu):
        found = probe(cpu_only)
        assert (found.verdict, found.remedy, found.count) == (Verdict.no_hardware, "", 0)


@pytest.mark.parametrize("rule", [cuda_style, level_zero_style])
def test_an_unset_variable_leaves_all(rule: Callable[[str | None, int], int]) -> None:
    assert rule(None, 3) == 3
