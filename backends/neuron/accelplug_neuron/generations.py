"""The generations of Neuron hardware: how the machine names them, and what each can do."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Generation:
    """One generation: physical NeuronCores in a device, how many of them the runtime joins into one logical core by
    default and at most (LNC), and whether torch-neuronx has a native device for it."""

    name: str
    cores: int
    default_lnc: int
    native: bool

    @property
    def lncs(self) -> tuple[int, ...]:
        """What NEURON_LOGICAL_NC_CONFIG may be."""
        return tuple(range(1, self.default_lnc + 1))


KNOWN = {
    generation.name: generation
    for generation in (
        Generation("inf1", cores=4, default_lnc=1, native=False),
        Generation("trn1", cores=2, default_lnc=1, native=False),
        Generation("inf2", cores=2, default_lnc=1, native=False),
        Generation("trn1/inf2", cores=2, default_lnc=1, native=False),
        Generation("trn2", cores=8, default_lnc=2, native=True),
        Generation("trn3", cores=8, default_lnc=2, native=True),
    )
}

NATIVE = " and ".join(name for name, generation in KNOWN.items() if generation.native)

# The same for all of them so far, as is the rule that a kernel has to be launched on all cores of a logical one.
NATIVE_LNC = max(generation.default_lnc for generation in KNOWN.values() if generation.native)

# Only the core's type is read: the device's own is "NDv3" on inf2 and on trn2 alike.
_BY_CORE = {"NCv1": "inf1", "NCv2": "trn1/inf2", "NCv3": "trn2", "NCv4": "trn3"}

_BY_CHIP = {"inferentia": "inf", "trainium": "trn"}


def from_instance_type(text: str) -> str:
    """ "trn2" of an EC2 instance type ("trn2u.48xlarge") or of the driver's short form ("Trn2"), "" of anything else.

    A later generation than the known ones ("trn4") is returned as well: being unknown here doesn't make it absent.
    """
    match = re.fullmatch(r"(inf|trn)(\d+)(?:[a-z]*(?:-[a-z0-9]+)?\.[a-z0-9-]+)?", text.lower())
    return f"{match[1]}{match[2]}" if match else ""


def from_chip(text: str) -> str:
    """ "trn2" of the driver's name of the chip ("Trainium2"; the first Inferentia has no number), "" of others."""
    match = re.fullmatch(r"(inferentia|trainium)(\d*)", text.lower())
    return f"{_BY_CHIP[match[1]]}{match[2] or '1'}" if match else ""


def from_core(text: str) -> str:
    """The generation of a core's architecture ("NCv3"), "" of an unknown one."""
    return _BY_CORE.get(text, "")
