"""The probe, on machines made of files: no hardware and no SDK needed."""

from __future__ import annotations

from pathlib import Path

from accelplug.specs import Host, Probe, Verdict

from accelplug_tessera.probe import SDK, probe

USER = 1000


def looked(tmp_path: Path, *nodes: str, sdk: bool = True, mode: int = 0o666, **environ: str) -> Probe:
    """What the probe says of a machine with these device nodes, and the SDK or not."""
    site = tmp_path / "site"
    for path in nodes:
        node = tmp_path / path.lstrip("/")
        node.parent.mkdir(parents=True, exist_ok=True)
        node.touch()
        node.chmod(mode)
    info = site / f"{SDK.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    if sdk:
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {SDK}\nVersion: 1.0\n")
    return probe(Host(tmp_path, environ=environ, site=[site] if sdk else [], uid=USER, groups=[USER]))


def test_a_machine_without_the_device_says_so(tmp_path: Path) -> None:
    assert looked(tmp_path).verdict is Verdict.no_hardware


def test_a_device_that_the_user_may_not_open_comes_with_what_to_do(tmp_path: Path) -> None:
    found = looked(tmp_path, "/dev/tessera0", mode=0o000)
    assert (found.verdict, bool(found.remedy)) == (Verdict.no_driver, True)


def test_a_device_without_its_sdk_comes_with_the_command_that_installs_it(tmp_path: Path) -> None:
    found = looked(tmp_path, "/dev/tessera0", sdk=False)
    assert (found.verdict, found.remedy) == (Verdict.no_software, f"pip install {SDK}")


def test_devices_with_their_sdk_are_usable(tmp_path: Path) -> None:
    found = looked(tmp_path, "/dev/tessera0", "/dev/tessera1")
    assert (found.verdict, found.count, found.details["sdk"]) == (Verdict.usable, 2, "1.0")


def test_the_variable_leaves_some_of_them_or_none(tmp_path: Path) -> None:
    nodes = ("/dev/tessera0", "/dev/tessera1")
    assert looked(tmp_path / "one", *nodes, TESSERA_VISIBLE_DEVICES="1").count == 1
    assert looked(tmp_path / "none", *nodes, TESSERA_VISIBLE_DEVICES="7").verdict is Verdict.hidden
