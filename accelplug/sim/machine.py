"""The machine that a simulated backend's probe looks at: real files, in a folder of the user's cache."""

from __future__ import annotations

import hashlib
from pathlib import Path

from accelplug import cache
from accelplug.sim import dynamo
from accelplug.sim.profile import Profile
from accelplug.specs import Host

# A stand-in for the vendor's SDK. It has the module that a probe looks for, and `load` imports.
MODULE = '''"""accelplug's stand-in for {distribution}: nothing of the vendor's is in here."""

from accelplug.sim.sdk import bring_up

__version__ = {version!r}


def _autoload() -> None:
    """What the entry point in torch.backends names."""
    bring_up({name!r})


_autoload()
'''


def host(profile: Profile, real: Host) -> Host:
    """What ``real`` is, with the profile's files in the place of its own and the profile's SDK installed."""
    made = _folder(profile)
    return Host(
        root=made / "root",
        environ=real.environ,
        site=[str(made / "site"), *real.site],
        system=real.system,
        machine=real.machine,
        uid=real.uid,
        groups=sorted(real.groups),
    )


def site(profile: Profile) -> Path:
    """The folder of installed packages that has the profile's SDK."""
    return _folder(profile) / "site"


def _folder(profile: Profile) -> Path:
    described = profile.model_dump_json(include={"name", "devices", "machine", "sdk"}) + MODULE + dynamo.TARGET
    digest = hashlib.sha256(described.encode()).hexdigest()[:16]
    return cache.made_once(
        cache.folder("sim", "machines") / f"{profile.name}-{digest}", lambda path: _fill(profile, path)
    )


def _fill(profile: Profile, folder: Path) -> None:
    (folder / "root").mkdir(parents=True)
    (folder / "site").mkdir()
    for n in range(profile.devices):
        for name, text in profile.machine.files.items():
            path = _within(folder / "root", name.format(n=n))
            path.write_text(text.format(n=n) + "\n")
            path.chmod(0o666)
        for name, to in profile.machine.links.items():
            link = _within(folder / "root", name.format(n=n))
            if not link.is_symlink():
                link.symlink_to(to.format(n=n))
    if profile.sdk:
        _install(profile, folder / "site")


def _within(root: Path, name: str) -> Path:
    path = root / name.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _install(profile: Profile, folder: Path) -> None:
    sdk = profile.sdk
    assert sdk is not None
    module = folder / sdk.module
    module.mkdir()
    (module / "__init__.py").write_text(
        MODULE.format(distribution=sdk.distribution, version=sdk.version, name=profile.name)
    )
    info = folder / f"{sdk.distribution.replace('-', '_')}-{sdk.version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {sdk.distribution}\nVersion: {sdk.version}\n")
    entry_points = f"[torch.backends]\n{sdk.module} = {sdk.module}:_autoload\n"
    if sdk.dynamo_backend:
        entry_points += f"[{dynamo.GROUP}]\n{sdk.dynamo_backend} = {dynamo.TARGET}\n"
    (info / "entry_points.txt").write_text(entry_points)
