"""What ran: a digest for each piece of software that a report rests on. Nothing is imported for it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from accelplug import settings
from accelplug.conformance.areas.area import Area
from accelplug.conformance.subject import Subject
from accelplug.entry_points import of_group
from accelplug.hookspecs import ENTRY_POINTS
from accelplug.sim import profile

SOURCES = {".py", ".cpp", ".h", ".toml"}
DIGITS = 12


def content(examined: Subject, areas: Iterable[Area]) -> dict[str, str]:
    """Name → digest: of the sources of accelplug, of packages that bring areas, and of the backend's; of the installed
    files of torch and of what areas are about; of the simulator's profile where the device is simulated."""
    areas = tuple(areas)
    packages = dict.fromkeys(area.module.partition(".")[0] for area in areas)
    found = {name: _of_sources(name) for name in dict.fromkeys(("accelplug", *packages))}
    for entry_point in of_group(ENTRY_POINTS):
        if entry_point.name == examined.name:
            found["backend"] = _of_sources(entry_point.module)
    simulate = settings.read().values.simulate
    if examined.candidate.simulated and simulate:  # a device may also simulate itself
        found["profile"] = _digest([profile.find(simulate).model_dump_json().encode()])
    for module in ("torch", *dict.fromkeys(area.needs for area in areas if area.needs)):
        found |= {module: of_module} if (of_module := of_installed(module)) else {}
    return found


def version_of(module: str) -> str:
    """The version of the distribution that has a top-level module; "" where there is none."""
    distribution = _distribution(module)
    return distribution.version if distribution else ""


def _of_sources(module: str) -> str:
    """The source files of a package, or of a module that is no package."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{module} has no source", name=module)
    file = Path(spec.origin)
    files = sorted(file.parent.rglob("*")) if spec.submodule_search_locations else [file]
    return _digest(each.read_bytes() for each in files if each.suffix in SOURCES)


def of_installed(module: str) -> str:
    """A package as it was installed, by the hashes that its installer wrote down: those of the package's own files, as
    scripts and metadata differ from one environment to the next. Where none are written down, as in an editable
    installation, by its sources; "" where there is no such package."""
    names = dict.fromkeys(metadata.packages_distributions().get(module, []))
    files = (file for name in names for file in metadata.files(name) or ())
    recorded = sorted(f"{file} {file.hash.value}" for file in files if file.hash and file.parts[0] == module)
    if recorded:
        return _digest(line.encode() for line in recorded)
    return _of_sources(module) if find_spec(module) else ""


def _distribution(module: str) -> metadata.Distribution | None:
    """The distribution of a top-level module, which may have another name."""
    try:
        return metadata.distribution(module)
    except metadata.PackageNotFoundError:
        names = metadata.packages_distributions().get(module, [])
        return metadata.distribution(names[0]) if names else None


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:DIGITS]
