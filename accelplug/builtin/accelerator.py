"""What else PyTorch has in tree: AMD GPUs (rocm), Intel GPUs (xpu) and Apple's (mps)."""

from __future__ import annotations

from collections.abc import Callable

from accelplug.builtin.torch_build import lacks
from accelplug.builtin.visible import cuda_style, level_zero_style
from accelplug.hookspecs import hookimpl
from accelplug.specs import DeviceSpec, Host, Probe, Verdict

AMD, INTEL = "0x1002", "0x8086"

Limit = Callable[[str | None, int], int]


def render_nodes(host: Host, vendor: str) -> list[str]:
    """The render nodes of one PCI vendor's GPUs."""
    return [
        f"/dev/dri/{folder.rsplit('/', 1)[1]}"
        for folder in host.list("/sys/class/drm", r"renderD\d+")
        if host.read(f"{folder}/device/vendor") == vendor
    ]


def gpu(host: Host, nodes: list[str], opened: list[str], library: str, build: str, limits: dict[str, Limit]) -> Probe:
    """The verdict on ``nodes``: may ``opened`` be opened, has torch the library, how many does each variable leave."""
    evidence = (f"GPU nodes: {', '.join(nodes) or 'none'}",)
    if not nodes:
        return Probe(verdict=Verdict.no_hardware, reason="no such GPU in /sys/class/drm", evidence=evidence)
    shut = [node for node in opened if not host.may_open(node)]
    if shut:
        missing = not host.exists(shut[0])
        return Probe(
            verdict=Verdict.no_driver,
            reason=f"{shut[0]} is missing" if missing else f"no permission to open {shut[0]}",
            remedy="load the driver" if missing else "add this user to the groups `render` and `video`",
            evidence=evidence,
        )
    if lacking := lacks(host, library, build):
        return Probe(
            verdict=Verdict.no_software, reason=lacking, remedy=f"install a {build} build of torch", evidence=evidence
        )
    left = {variable: limit(host.environ.get(variable), len(nodes)) for variable, limit in limits.items()}
    variable, count = min(left.items(), key=lambda item: item[1])
    if count == 0:
        return Probe(
            verdict=Verdict.hidden,
            reason=f"all hidden by {variable}={host.environ.get(variable)!r}",
            remedy=f"unset {variable}, or name devices that exist",
            evidence=evidence,
        )
    return Probe(
        verdict=Verdict.usable, reason=f"{count} GPU{'s' * (count > 1)}, {build} torch", count=count, evidence=evidence
    )


def probe_rocm(host: Host) -> Probe:
    """AMD's GPUs are opened through /dev/kfd, besides their render nodes."""
    nodes = render_nodes(host, AMD)
    variables = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
    return gpu(host, nodes, ["/dev/kfd", *nodes[:1]], "libtorch_hip.so", "ROCm", dict.fromkeys(variables, cuda_style))


def probe_xpu(host: Host) -> Probe:
    """Intel's GPUs are opened through their render nodes."""
    nodes = render_nodes(host, INTEL)
    return gpu(host, nodes, nodes[:1], "libtorch_xpu.so", "XPU", {"ZE_AFFINITY_MASK": level_zero_style})


def probe_mps(host: Host) -> Probe:
    """Every build of torch for a Mac with Apple silicon has the device."""
    evidence = (f"system: {host.system} {host.machine}",)
    if (host.system, host.machine) != ("Darwin", "arm64"):
        return Probe(verdict=Verdict.no_hardware, reason="not a Mac with Apple silicon", evidence=evidence)
    if host.version("torch") is None:
        return Probe(
            verdict=Verdict.no_software,
            reason="torch is not installed",
            remedy="pip install torch",
            evidence=evidence,
        )
    return Probe(verdict=Verdict.usable, reason="Apple GPU", count=1, evidence=evidence)


class InTree:
    """A plugin for a device that PyTorch has in tree."""

    def __init__(
        self,
        name: str,
        title: str,
        torch_type: str,
        priority: int,
        probe: Callable[[Host], Probe],
        variable: str = "",
        ray_resource: str = "",
    ) -> None:
        self._spec = DeviceSpec(
            name=name,
            title=title,
            torch_type=torch_type,
            priority=priority,
            probe=probe,
            visible_devices=variable,
            ray_resource=ray_resource,
        )

    @hookimpl
    def accelplug_device(self) -> DeviceSpec:
        return self._spec


rocm = InTree("rocm", "AMD ROCm", "cuda", 230, probe_rocm, "HIP_VISIBLE_DEVICES", "GPU")
xpu = InTree("xpu", "Intel XPU", "xpu", 220, probe_xpu, "ZE_AFFINITY_MASK", "GPU")
mps = InTree("mps", "Apple MPS", "mps", 210, probe_mps)
