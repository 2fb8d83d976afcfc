"""What is installed for Neuron, told from package metadata. The name of a package proves nothing.

PyPI has placeholders under the names of AWS's packages: they install, have an importable module, and say WRONG PACKAGE.
The real ones are on AWS's own package index. ``torch-neuronx`` is also the name of two generations of software: up to
2.9 for torch_xla's ``xla`` device, from 2.13 with PyTorch's native ``neuron`` device.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from accelplug.specs import Host

SDK = "torch-neuronx"
MODULE = "torch_neuronx"
FIRST_NATIVE = (2, 13)
VLLM_COPY = "libtorch-neuronx-lite"
PACKAGES = (SDK, VLLM_COPY, "vllm-neuron", "neuronx-cc", "nki")

# Recognised by version too, since an index that mirrors PyPI may rewrite the text.
PLACEHOLDERS = {SDK: "1.0", VLLM_COPY: "0.0.1", "vllm-neuron": "0.1.0", "neuronx-cc": "1.0.post1", "nki": "0.0.1"}
PLACEHOLDER_TEXT = "WRONG PACKAGE"

INSTALL = (
    "install torch-neuronx 2.13 or later from the AWS package index, which the Neuron installation guide names "
    "(pip install 'torch-neuronx>=2.13' --extra-index-url THAT_INDEX)"
)


@dataclass(frozen=True)
class Package:
    """One installed distribution. ``autoload`` is true where it brings a ``torch.backends`` entry point."""

    name: str
    version: str
    placeholder: bool
    autoload: bool

    def __str__(self) -> str:
        return f"{self.version} (PyPI placeholder)" if self.placeholder else self.version


@dataclass(frozen=True)
class Software:
    """The installed packages by name, torch's version ("" without torch), and whether the SDK's module is there."""

    torch: str
    packages: dict[str, Package]
    module: bool

    @property
    def details(self) -> dict[str, str]:
        found = {name: str(package) for name, package in self.packages.items()}
        return ({"torch": self.torch} if self.torch else {}) | found

    @property
    def evidence(self) -> tuple[str, ...]:
        sdk = self.packages.get(SDK)
        return (
            f"torch: {self.torch or 'not installed'}",
            f"{SDK}: {sdk or 'not installed'}",
            f"entry point {MODULE} in torch.backends: {'yes' if sdk and sdk.autoload else 'no'}",
        )

    @property
    def problem(self) -> str:
        """Why there can be no native ``neuron`` device with these packages, "" where there can."""
        sdk = self.packages.get(SDK)
        if not self.torch:
            return "torch is not installed"
        if sdk is None:
            copy = f" ({VLLM_COPY} is vLLM Neuron's private copy, no replacement)" if VLLM_COPY in self.packages else ""
            return f"{SDK} is not installed{copy}"
        if sdk.placeholder:
            return f"the installed {SDK} {sdk.version} is PyPI's placeholder; the real one is on the AWS package index"
        number = re.match(r"(\d+)\.(\d+)", sdk.version)
        if number is None:
            return f"the version of the installed {SDK}, {sdk.version!r}, can't be read"
        if (int(number[1]), int(number[2])) < FIRST_NATIVE:
            return f"{SDK} {sdk.version} is of the torch_xla generation; PyTorch's neuron device comes with 2.13"
        if not (sdk.autoload or self.module):
            return f"{SDK} {sdk.version} is incomplete: neither its entry point nor its module {MODULE} is there"
        return ""

    @property
    def named(self) -> str:
        """The SDK and its version where one is installed, placeholder or not."""
        sdk = self.packages.get(SDK)
        return f"{SDK} {sdk}" if sdk else ""


def look(host: Host) -> Software:
    """Reads the metadata of what is installed; imports nothing."""
    packages = {name: package for name in PACKAGES if (package := _package(host, name))}
    return Software(host.version("torch") or "", packages, host.package(MODULE) is not None)


def _package(host: Host, name: str) -> Package | None:
    dist = host.distribution(name)
    if dist is None:
        return None
    text = dist.read_text("METADATA") or ""
    return Package(
        name=name,
        version=str(dist.version),
        placeholder=PLACEHOLDER_TEXT in text or dist.version == PLACEHOLDERS[name],
        autoload=any(entry.group == "torch.backends" and entry.name == MODULE for entry in dist.entry_points),
    )
