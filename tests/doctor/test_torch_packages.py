"""torchvision, torchaudio and torchcodec beside a torch they were not built for."""

from __future__ import annotations

import pytest

from accelplug.doctor import Level, torch_packages

CPU_LIBRARIES = {"torch/lib/libtorch_cpu.so": b"", "torch/lib/libtorch.so": b""}
CUDA_LIBRARIES = {**CPU_LIBRARIES, "torch/lib/libtorch_cuda.so": b""}
LINKS_TO_CUDA = {"torchvision/_C.so": b"\x7fELF\0libtorch_cpu.so\0libtorch_cuda.so\0libc10_cuda.so\0"}


def companion(packages, name="torchvision"):
    (finding,) = [f for f in torch_packages.checks(packages.host()) if f.check == name]
    return finding


def test_no_torch_is_an_error_that_says_what_to_install(packages):
    (finding,) = torch_packages.checks(packages.host())
    assert (finding.level, finding.remedy) == (Level.error, "pip install torch")


def test_torch_without_companions_is_fine(packages):
    packages.install("torch", "2.13.0")
    (finding,) = torch_packages.checks(packages.host())
    assert finding.summary == "torch 2.13.0"


def test_torchvision_from_pypi_beside_the_cpu_build_of_torch_is_found_by_what_it_links_to(packages):
    """Its requirement torch==2.13.0 is met by 2.13.0+cpu, and still `operator torchvision::nms does not exist`."""
    packages.install("torch", "2.13.0+cpu", files=CPU_LIBRARIES)
    packages.install("torchvision", "0.28.0", requires=("torch (==2.13.0)",), files=LINKS_TO_CUDA)
    finding = companion(packages)
    assert finding.level is Level.error
    assert "needs libtorch_cuda.so" in finding.summary
    assert "operator torchvision::nms does not exist" in finding.summary
    assert "https://download.pytorch.org/whl/cpu" in finding.remedy
    assert finding.fix.action == "pip uninstall torchvision"
    assert finding.fix.removes


def test_the_same_torchvision_beside_a_cuda_build_of_torch_is_fine(packages):
    packages.install("torch", "2.13.0", files=CUDA_LIBRARIES)
    packages.install("torchvision", "0.28.0", requires=("torch (==2.13.0)",), files=LINKS_TO_CUDA)
    assert companion(packages).level is Level.ok


def test_a_pin_on_another_torch_is_found(packages):
    packages.install("torch", "2.13.0+cpu")
    packages.install("torchvision", "0.27.0+cpu", requires=("numpy", "torch==2.12.0"))
    assert "it requires torch==2.12.0" in companion(packages).summary


@pytest.mark.parametrize("requirement", ["torch==2.12.0; extra == 'old'", "torch>=2.11", "torch==2.13.0+cpu"])
def test_a_requirement_that_is_met_or_does_not_apply_is_no_misfit(packages, requirement):
    packages.install("torch", "2.13.0+cpu")
    packages.install("torchaudio", "2.11.0", requires=(requirement,))
    assert companion(packages, "torchaudio").level is Level.ok


def test_two_different_build_tags_are_found(packages):
    packages.install("torch", "2.13.0+cpu")
    packages.install("torchaudio", "2.13.0+cu130")
    assert "one is the build +cu130, the other +cpu" in companion(packages, "torchaudio").summary
