"""NVIDIA GPUs, found by their device nodes and the driver's files. CUDA is never initialised, NVML not loaded."""

from __future__ import annotations

from accelplug.builtin.torch_build import lacks
from accelplug.builtin.visible import cuda_style
from accelplug.hookspecs import hookimpl
from accelplug.specs import DeviceSpec, Host, Probe, RanOn, Verdict

LIBRARY = "libcuda.so.1"
LINKER_CACHE = "/etc/ld.so.cache"
LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/nvidia/lib64",
    "/usr/lib/wsl/lib",
)


def gpus(host: Host) -> list[str]:
    """The device nodes of GPUs: one a card, WSL's shared one, or a Jetson's."""
    return (
        host.list("/dev", r"nvidia\d+")
        or [node for node in ("/dev/dxg",) if host.exists(node) and host.exists("/usr/lib/wsl/lib/libcuda.so.1")]
        or [node for node in ("/dev/nvgpu", "/dev/nvhost-gpu") if host.exists(node)][:1]
    )


def models(host: Host) -> str:
    """The cards' names as the driver lists them, "" where it does not."""
    names = []
    for folder in host.list("/proc/driver/nvidia/gpus", r"[0-9a-fA-F:.]+"):
        lines = (host.read(f"{folder}/information") or "").splitlines()
        names += [line.partition(":")[2].strip() for line in lines if line.startswith("Model:")]
    return ", ".join(names)


def driver_library(host: Host) -> str:
    """Where the dynamic linker would find the driver's user-space half, "" where it would not."""
    for folder in (*host.environ.get("LD_LIBRARY_PATH", "").split(":"), *LIBRARY_FOLDERS):
        if folder and host.exists(f"{folder}/{LIBRARY}"):
            return f"{folder}/{LIBRARY}"
    return LINKER_CACHE if LIBRARY in (host.read(LINKER_CACHE) or "") else ""


def probe(host: Host) -> Probe:
    """The verdict: device nodes, then permission and the driver's library, then torch's build, then the variable."""
    nodes = gpus(host)
    evidence: tuple[str, ...] = (f"/dev/nvidia<N>, /dev/dxg, /dev/nvgpu: {', '.join(nodes) or 'none'}",)
    if not nodes:
        return Probe(verdict=Verdict.no_hardware, reason="no NVIDIA device node in /dev", evidence=evidence)

    library = driver_library(host)
    evidence += (f"{LIBRARY}: {library or 'not found'}",)
    driver = host.read("/sys/module/nvidia/version") or ""
    details = {key: text for key, text in (("driver", driver), ("models", models(host))) if text}
    seen = {"details": details, "evidence": evidence}

    ours = [node for node in nodes if host.may_open(node)]
    if not ours:
        return Probe(
            verdict=Verdict.no_driver,
            reason=f"no permission to open {nodes[0]}",
            remedy="add this user to the group that owns the node, or start the container with --gpus",
            **seen,
        )
    if not library:
        return Probe(
            verdict=Verdict.no_driver,
            reason=f"device nodes, but no {LIBRARY}: the driver's user-space half is missing",
            remedy="install the NVIDIA driver, or start the container with the NVIDIA container toolkit",
            **seen,
        )
    if lacking := lacks(host, "libtorch_cuda.so", "CUDA"):
        return Probe(
            verdict=Verdict.no_software,
            reason=lacking,
            remedy="install a CUDA build of torch (pip install torch)",
            **seen,
        )
    variable = "CUDA_VISIBLE_DEVICES"
    count = cuda_style(host.environ.get(variable), len(ours))
    if count == 0:
        return Probe(
            verdict=Verdict.hidden,
            reason=f"{len(ours)} GPU{'s' * (len(ours) > 1)}, all hidden by {variable}={host.environ.get(variable)!r}",
            remedy=f"unset {variable}, or name devices that exist",
            **seen,
        )
    return Probe(verdict=Verdict.usable, reason=_count(count, len(nodes)), count=count, **seen)


def _count(count: int, present: int) -> str:
    return f"{count} NVIDIA GPU{'s' * (count > 1)}" + (f" of {present}" if count < present else "")


@hookimpl
def accelplug_device() -> DeviceSpec:
    return DeviceSpec(
        name="cuda",
        title="NVIDIA CUDA",
        torch_type="cuda",
        priority=500,
        probe=probe,
        visible_devices="CUDA_VISIBLE_DEVICES",
        distributed_backend="nccl",
        ray_resource="GPU",
        ran_on=RanOn.nothing,
    )
