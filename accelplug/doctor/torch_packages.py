"""Is torch there, and do its companion packages fit it? Decided from files: nothing is imported.

The usual misfit: torch's CPU build beside companions from PyPI, which are CUDA builds of the same version. Their
requirement ``torch==…`` is met; only what their libraries link to gives them away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from accelplug.doctor.finding import Finding, Level
from accelplug.doctor.repair import uninstall
from accelplug.specs import Host

COMPANIONS = ("torchvision", "torchaudio", "torchcodec")
SYMPTOMS = {"torchvision": "importing it says `operator torchvision::nms does not exist`"}
_DEVICE_LIBRARY = re.compile(rb"libtorch_(?:cuda|hip|xpu)\.so")


def checks(host: Host) -> Iterator[Finding]:
    """One finding on torch, and one for each companion that is installed."""
    torch = host.distribution("torch")
    if torch is None:
        yield Finding(check="torch", level=Level.error, summary="torch is not installed", remedy="pip install torch")
        return
    yield Finding(check="torch", summary=f"torch {torch.version}")
    for name in COMPANIONS:
        if companion := host.distribution(name):
            yield _companion(name, companion, torch)


def _companion(name: str, companion: Distribution, torch: Distribution) -> Finding:
    rules = (_unmet_requirement, _other_build, _missing_library)
    misfit = next(filter(None, (rule(companion, torch) for rule in rules)), "")
    if not misfit:
        return Finding(check=name, summary=f"{name} {companion.version} fits torch {torch.version}")
    build = Version(torch.version).local
    matching = f"pip install --force-reinstall {name}" + (
        f" --index-url https://download.pytorch.org/whl/{build}" if build else ""
    )
    symptom = f"; {SYMPTOMS[name]}" if name in SYMPTOMS else ""
    return Finding(
        check=name,
        level=Level.error,
        summary=f"{name} {companion.version} does not fit torch {torch.version}: {misfit}{symptom}",
        remedy=f"pip uninstall {name}, or install the matching build: {matching}",
        fix=uninstall(name),
    )


def _unmet_requirement(companion: Distribution, torch: Distribution) -> str:
    """A ``Requires-Dist: torch…`` that the installed torch does not meet."""
    for text in companion.requires or ():
        wanted = Requirement(text)
        applies = wanted.name == "torch" and (wanted.marker is None or wanted.marker.evaluate({"extra": ""}))
        if applies and not wanted.specifier.contains(torch.version, prereleases=True):
            return f"it requires torch{wanted.specifier}"
    return ""


def _other_build(companion: Distribution, torch: Distribution) -> str:
    """Two build tags, as in +cpu and +cu130, that differ."""
    its, torchs = Version(companion.version).local, Version(torch.version).local
    return f"one is the build +{its}, the other +{torchs}" if its and torchs and its != torchs else ""


def _missing_library(companion: Distribution, torch: Distribution) -> str:
    """A device library of torch's that the companion links to and this torch does not have."""
    folder = Path(str(torch.locate_file("torch/lib")))
    if not folder.is_dir():
        return ""
    for file in companion.files or ():
        path = Path(str(file.locate()))
        if file.suffix != ".so" or not path.is_file():
            continue
        for library in sorted({match.decode() for match in _DEVICE_LIBRARY.findall(path.read_bytes())}):
            if not (folder / library).exists():
                return f"its {file} needs {library}, which this build of torch does not have"
    return ""
