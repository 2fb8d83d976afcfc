"""Folders that look like machines, as far as a probe can see: device nodes, the driver's files, an installed torch."""

from __future__ import annotations

from pathlib import Path

from accelplug.specs import Host


def write(root: Path, files: dict[str, str]) -> Path:
    """Writes files, by their path on the machine, under ``root``; returns ``root``."""
    for path, text in files.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(0o666)
    return root


def torch_site(folder: Path, *libraries: str, version: str = "2.13.0+cpu") -> Path:
    """A site folder with a torch that has these libraries."""
    files = {
        "torch/__init__.py": "raise SystemExit('a probe must not import torch')",
        f"torch-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n",
        "torch/lib/libtorch_cpu.so": "",
    }
    return write(folder, files | {f"torch/lib/{library}": "" for library in libraries})


def nvidia(root: Path, gpus: int = 2) -> Path:
    """A machine with NVIDIA GPUs and their driver."""
    files = {
        "/dev/nvidiactl": "",
        "/dev/nvidia-uvm": "",
        "/sys/module/nvidia/version": "580.65.06\n",
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1": "",
    }
    for gpu in range(gpus):
        files[f"/dev/nvidia{gpu}"] = ""
        files[f"/proc/driver/nvidia/gpus/0000:{gpu:02x}:00.0/information"] = "Model: \t\t NVIDIA H200\nIRQ: 7\n"
    return write(root, files)


def render(root: Path, vendor: str, gpus: int = 2) -> Path:
    """A machine with render nodes of one PCI vendor."""
    files = {}
    for gpu in range(gpus):
        files[f"/dev/dri/renderD{128 + gpu}"] = ""
        files[f"/sys/class/drm/renderD{128 + gpu}/device/vendor"] = f"{vendor}\n"
    return write(root, files)


def amd(root: Path) -> Path:
    """A machine with two AMD GPUs and the kernel's compute driver."""
    return write(render(root, "0x1002"), {"/dev/kfd": ""})


def cuda_box(tmp_path: Path, **environ: str) -> Host:
    """A machine where CUDA is usable, but for what the environment says."""
    site = torch_site(tmp_path / "cuda-torch", "libtorch_cuda.so", version="2.13.0+cu130")
    return Host(nvidia(tmp_path / "cuda-box"), environ=environ, site=[site])
