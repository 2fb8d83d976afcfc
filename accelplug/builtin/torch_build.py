"""Which build of torch is installed, from its files."""

from __future__ import annotations

from accelplug.specs import Host


def lacks(host: Host, library: str, build: str) -> str:
    """Why torch can't drive the device, "" where it can: it must bring ``library`` (``libtorch_cuda.so``)."""
    torch = host.package("torch")
    if torch is not None and (torch / "lib" / library).is_file():
        return ""
    version = host.version("torch")
    return f"torch {version} is not a {build} build" if version else "torch is not installed"
