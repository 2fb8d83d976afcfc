"""The verdict on Neuron: hardware, then driver and permission, then software, then what the variables leave."""

from __future__ import annotations

from accelplug.specs import Host, Probe, Verdict
from accelplug_neuron import cores, hardware, software
from accelplug_neuron.cores import LNC, NUM_CORES, VISIBLE_CORES, SettingError
from accelplug_neuron.generations import NATIVE
from accelplug_neuron.hardware import Hardware
from accelplug_neuron.software import INSTALL, Software

PASS_NODES = (
    "start the container with --device=/dev/neuron0 (once for each device), or request aws.amazon.com/neuron "
    "in Kubernetes"
)
LOAD_DRIVER = "install and load the driver (package aws-neuronx-dkms, then: sudo modprobe neuron)"
OTHER_HARDWARE = f"use an instance with {NATIVE}; for this one there is AWS's torch_xla stack (torch-neuronx up to 2.9)"


def probe(host: Host) -> Probe:
    """Whether PyTorch's ``neuron`` device can work here, and with how many logical cores."""
    seen, stack = hardware.look(host), software.look(host)
    found = _absent(seen, stack) or _driver(seen) or _software(seen, stack) or _visible(host, seen)
    settings = tuple(
        f"{name}={host.environ[name]!r}" for name in (LNC, VISIBLE_CORES, NUM_CORES) if name in host.environ
    )
    return found.model_copy(
        update={
            "details": seen.details | _lnc_detail(host, seen) | stack.details,
            "evidence": seen.evidence + stack.evidence + settings,
        }
    )


def _absent(seen: Hardware, stack: Software) -> Probe | None:
    if seen.found:
        return None
    reason = "no /dev/neuron<N>, no Neuron device in sysfs, and DMI names no Inferentia or Trainium instance"
    return Probe(
        verdict=Verdict.no_hardware, reason=f"{stack.named} is installed, but: {reason}" if stack.named else reason
    )


def _driver(seen: Hardware) -> Probe | None:
    """Hardware that can't be reached: no node, or none that this user may open."""
    if not seen.nodes:
        useless = f"; {_not_native(seen)}" if _not_native(seen) else ""
        if seen.folders or seen.driver:
            what = f"the driver sees {_count(len(seen.folders), seen)}" if seen.folders else "the driver is loaded"
            reason, remedy = f"{what}, but there is no /dev/neuron<N> here", PASS_NODES
        else:
            reason = f"this is a {seen.instance_type}, but there is no /dev/neuron<N> and the driver isn't loaded"
            remedy = f"{LOAD_DRIVER}; in a container, {PASS_NODES}"
        return Probe(verdict=Verdict.no_driver, reason=reason + useless, remedy=remedy)
    if not seen.open_devices:
        return Probe(
            verdict=Verdict.no_driver,
            reason=f"no permission to open {seen.nodes[0]}"
            + (f" or any other of {len(seen.nodes)}" if len(seen.nodes) > 1 else ""),
            remedy="add this user to the group that owns the node, or make it readable and writable with a udev rule",
        )
    return None


def _software(seen: Hardware, stack: Software) -> Probe | None:
    if reason := _not_native(seen):
        return Probe(verdict=Verdict.no_software, reason=reason, remedy=OTHER_HARDWARE)
    if stack.problem:
        remedy = "pip install torch, then " * (not stack.torch) + INSTALL
        return Probe(verdict=Verdict.no_software, reason=stack.problem, remedy=remedy)
    return None


def _visible(host: Host, seen: Hardware) -> Probe:
    """How many logical cores the variables leave."""
    devices = seen.open_devices
    try:
        lnc = cores.logical_nc(host.environ, seen.known)
        if lnc is None or seen.cores < lnc:
            return _uncounted(host, seen)
        per_device = seen.cores // lnc
        total = len(devices) * per_device
        count = cores.visible(host.environ, cores.logical_ids(devices, per_device), total)
    except SettingError as error:
        return Probe(
            verdict=Verdict.hidden,
            reason=f"{_count(len(devices), seen)}, hidden by {error}",
            remedy=f"unset {error.variable}, or correct it",
        )
    variable = VISIBLE_CORES if VISIBLE_CORES in host.environ else NUM_CORES
    limited = f" of {total}, by {variable}={host.environ[variable]!r}" if count < total else ""
    shut = f"; no permission to open {', '.join(seen.shut)}" if seen.shut else ""
    return Probe(
        verdict=Verdict.usable,
        reason=f"{_count(len(devices), seen)}, {count} logical core{'s' * (count > 1)}{limited} (LNC {lnc}){shut}",
        count=count,
    )


def _uncounted(host: Host, seen: Hardware) -> Probe:
    """A generation that came after this was written, or a sysfs that isn't mounted: refusing it would be worse."""
    devices = _count(len(seen.open_devices), seen)
    unknown = "nothing tells how many logical cores there are"
    if VISIBLE_CORES in host.environ:
        value = host.environ[VISIBLE_CORES]
        count, counted = len(cores.parse_cores(value)), f"{VISIBLE_CORES}={value!r} is taken as it is"
    else:
        count, counted = len(seen.open_devices), "counted as one each"
    return Probe(verdict=Verdict.usable, reason=f"{devices}; {unknown}, {counted}", count=count)


def _not_native(seen: Hardware) -> str:
    """Why this generation has no native PyTorch device, "" where it has, or where the generation is unknown."""
    if seen.known is None or seen.known.native:
        return ""
    return f"{seen.generation} has no native PyTorch device: torch-neuronx brings it for {NATIVE} only"


def _count(number: int, seen: Hardware) -> str:
    return f"{number} {seen.generation or 'Neuron'} device{'s' * (number != 1)}"


def _lnc_detail(host: Host, seen: Hardware) -> dict[str, str]:
    if seen.found and LNC in host.environ:
        return {"logical_nc": f"{host.environ[LNC]} (from {LNC})"}
    return {"logical_nc": str(seen.known.default_lnc)} if seen.known else {}
