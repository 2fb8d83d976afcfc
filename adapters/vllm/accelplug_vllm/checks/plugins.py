"""Will vLLM find accelplug, and does another package claim its platform?"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

from accelplug.doctor import Finding, Level
from accelplug.doctor.packages import entry_points
from accelplug.entry_points import origin
from accelplug.specs import Host
from accelplug_vllm import allow_list
from accelplug_vllm.arbitration import PLATFORMS

OURS = {PLATFORMS: "accelplug", "vllm.general_plugins": "accelplug_general"}
RESERVED = ("cpu", "cuda", "rocm", "tpu", "xpu")
CHECK = "vllm plugins"


def checks(host: Host) -> Iterator[Finding]:
    claims = entry_points(host, PLATFORMS)
    unregistered = [*_unregistered(host)]
    yield from unregistered
    hidden = [*_hidden(host)]
    yield from hidden
    if not unregistered and not hidden:
        yield Finding(check=CHECK, summary="vLLM finds accelplug")
    for claim in claims:
        if claim.name in RESERVED:
            yield _reserved(claim, host)
        elif not _is_ours(claim):
            yield _rival(claim, host)


def _is_ours(entry_point: EntryPoint) -> bool:
    return entry_point.dist is not None and entry_point.dist.name == "accelplug"


def _unregistered(host: Host) -> Iterator[Finding]:
    for group, name in OURS.items():
        if not any(e.name == name and _is_ours(e) for e in entry_points(host, group)):
            yield Finding(
                check=CHECK,
                level=Level.error,
                summary=f"accelplug's entry point {name!r} in {group} is not registered: vLLM does not know accelplug",
                remedy="pip install --force-reinstall --no-deps accelplug",
            )


def _hidden(host: Host) -> Iterator[Finding]:
    """What in the environment keeps vLLM from loading accelplug."""
    if host.environ.get("VLLM_TARGET_DEVICE", "").lower() == "cpu":
        yield Finding(
            check=CHECK,
            level=Level.error,
            summary="VLLM_TARGET_DEVICE=cpu: vLLM takes its own CPU platform and asks no plug-in",
            remedy="unset VLLM_TARGET_DEVICE; to use the CPU through accelplug, set ACCELPLUG_DEVICE=cpu",
        )
    missing = [name for name in OURS.values() if not _loads(name, host)]
    if missing:
        listed = [name.strip() for name in host.environ["VLLM_PLUGINS"].split(",") if name.strip()]
        wanted = [*dict.fromkeys([*listed, *OURS.values()])]
        yield Finding(
            check=CHECK,
            level=Level.error,
            summary=f"VLLM_PLUGINS={host.environ['VLLM_PLUGINS']!r} keeps out {' and '.join(missing)}: "
            "vLLM loads only what it lists",
            remedy=f"unset it, or set VLLM_PLUGINS={','.join(wanted)}",
        )


def _loads(name: str, host: Host) -> bool:
    """Whether vLLM loads an entry point of that name: it compares exactly, spaces included."""
    listed = host.environ.get("VLLM_PLUGINS")
    return listed is None or name in listed.split(",")


def _reserved(claim: EntryPoint, host: Host) -> Finding:
    loads = _loads(claim.name, host)
    return Finding(
        check=CHECK,
        level=Level.error if loads else Level.ok,
        summary=f"{origin(claim)} names a platform {claim.name!r}, which is the name of one of vLLM's own: "
        + ("vLLM can't tell them apart and does not start" if loads else "VLLM_PLUGINS keeps it out"),
        remedy=_keep_out(claim, host) if loads else "",
    )


def _rival(claim: EntryPoint, host: Host) -> Finding:
    loads = _loads(claim.name, host)
    return Finding(
        check=CHECK,
        level=Level.warning if loads else Level.ok,
        summary=f"{origin(claim)} also claims vLLM's platform, as {claim.name!r}: "
        + ("accelplug decides at each start which one is used, and says so" if loads else "VLLM_PLUGINS keeps it out"),
        remedy=_keep_out(claim, host) if loads else "",
    )


def _keep_out(claim: EntryPoint, host: Host) -> str:
    """How to be without that plug-in: uninstall it, or list only the others."""
    package = claim.dist.name if claim.dist else claim.value
    return f"pip uninstall {package}, or set VLLM_PLUGINS={allow_list.without([package], host)}"
