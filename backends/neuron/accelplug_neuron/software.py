"""What is installed for Neuron, told from package metadata. The name of a package proves nothing.

PyPI has placeholders under the names of AWS's packages: they install, have an importable module, and say WRONG PACKAGE.
The real ones are on AWS's own package index. ``torch-neuronx`` is also the name of two generations of software: up to
2.9 for torch_xla's ``xla`` device, from 2.13 with PyTorch's native ``neuron`` device.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import metadata

from accelplug.specs import Host

SDK = "torch-neuronx"
MODULE = "torch_neuronx"
FIRST_NATIVE = (2, 13)
VLLM_COPY = "libtorch-neuronx-lite"
COMPILER = "neuronx-cc"
NKI = "nki"
PACKAGES = (SDK, VLLM_COPY, "vllm-neuron", COMPILER, NKI)

# Recognised by version too, since an index that mirrors PyPI may rewrite the text.
PLACEHOLDERS = {SDK: "1.0", VLLM_COPY: "0.0.1", "vllm-neuron": "0.1.0", COMPILER: "1.0.post1", NKI: "0.0.1"}
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
        if too_old := not_native(sdk.version):
            return too_old
        if not (sdk.autoload or self.module):
            return f"{SDK} {sdk.version} is incomplete: neither its entry point nor its module {MODULE} is there"
        return ""

    @property
    def named(self) -> str:
        """The SDK and its version where one is installed, placeholder or not."""
        sdk = self.packages.get(SDK)
        return f"{SDK} {sdk}" if sdk else ""


def version_number(version: str) -> tuple[int, int] | None:
    """(2, 13) of "2.13.3.0"; None where the text doesn't begin so."""
    number = re.match(r"(\d+)\.(\d+)", version)
    return (int(number[1]), int(number[2])) if number else None


def not_native(version: str) -> str:
    """Why there is no native ``neuron`` device with this version of torch-neuronx, "" where there is."""
    number = version_number(version)
    if number is None:
        return f"the version of the installed {SDK}, {version!r}, can't be read"
    if number < FIRST_NATIVE:
        return f"{SDK} {version} is of the torch_xla generation; PyTorch's neuron device comes with 2.13"
    return ""


def compiler_versions() -> str:
    """What a compiled graph depends on, as far as it is installed: "torch-neuronx 2.13.3; neuronx-cc 2.25.1"."""
    found = {name: _installed(name) for name in (SDK, COMPILER, NKI)}
    return "; ".join(f"{name} {version}" for name, version in found.items() if version)


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


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
