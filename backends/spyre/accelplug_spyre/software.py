"""What is installed for Spyre, told from package metadata. The name of a package proves nothing."""

from __future__ import annotations

from dataclasses import dataclass

from accelplug.specs import Host

SDK = "torch-spyre"
MODULE = "torch_spyre"
OTHERS = ("ibm-spyre", "spyre-inference", "sendnn-inference", "vllm-spyre", "hf-adapters")
PLACEHOLDER = "ibm-spyre"  # on PyPI: an empty module
AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"

INSTALL = "install torch-spyre as github.com/torch-spyre/torch-spyre says (it is not on PyPI), or use IBM's image"


@dataclass(frozen=True)
class Software:
    """Versions by package. ``registers`` is true where torch-spyre has the entry point that registers its device."""

    versions: dict[str, str]
    registers: bool

    @property
    def evidence(self) -> tuple[str, ...]:
        return (
            f"torch: {self.versions.get('torch', 'not installed')}",
            f"{SDK}: {self.versions.get(SDK, 'not installed')}",
            f"entry point {MODULE} in torch.backends: {'yes' if self.registers else 'no'}",
        )

    @property
    def problem(self) -> str:
        """Why there can be no ``spyre`` device with these packages, "" where there can."""
        if "torch" not in self.versions:
            return "torch is not installed"
        if SDK not in self.versions:
            empty = f" ({PLACEHOLDER} from PyPI is an empty placeholder)" if PLACEHOLDER in self.versions else ""
            return f"{SDK} is not installed{empty}"
        if not self.registers:
            return (
                f"{SDK} {self.versions[SDK]} is a placeholder or incomplete: it has no entry point {MODULE} in "
                "torch.backends, so nothing registers the device"
            )
        return ""

    @property
    def remedy(self) -> str:
        """What to do about ``problem``."""
        return "pip install torch, then " * ("torch" not in self.versions) + INSTALL


def look(host: Host) -> Software:
    """Reads the metadata of what is installed; imports nothing."""
    versions = {name: version for name in ("torch", SDK, *OTHERS) if (version := host.version(name))}
    dist = host.distribution(SDK)
    entries = dist.entry_points if dist else ()
    registers = any(entry.group == "torch.backends" and entry.name == MODULE for entry in entries)
    return Software(versions, registers)
