"""The host as probes see it: files under any root, mode bits, package metadata."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from accelplug.specs import Host


@pytest.fixture
def host(tmp_path: Path) -> Host:
    (tmp_path / "dev").mkdir()
    return Host(tmp_path, environ={}, site=[tmp_path / "empty", tmp_path / "site"])


def node(host: Host, path: str, mode: int = 0o600) -> Path:
    host.path(path).touch(mode)
    host.path(path).chmod(mode)
    if os.geteuid() == 0:  # so that there is an owner who may not open everything
        os.chown(host.path(path), 1234, 1234)
    return host.path(path)


def test_files_are_listed_by_their_whole_name_in_natural_order(host: Host) -> None:
    for name in ("neuron10", "neuron2", "neuron1", "neuron", "neuron2x", "xneuron2"):
        node(host, f"/dev/{name}")
    assert host.list("/dev", r"neuron\d+") == ["/dev/neuron1", "/dev/neuron2", "/dev/neuron10"]


def test_names_with_odd_digits_are_listed_too(host: Host) -> None:
    for name in ("card1²", "card1"):
        node(host, f"/dev/{name}")
    assert host.list("/dev", "card.*") == ["/dev/card1", "/dev/card1²"]


def test_what_is_not_there_is_an_answer_and_not_an_exception(host: Host) -> None:
    assert host.list("/no/such", ".*") == []
    assert host.read("/no/such") is None
    assert not host.exists("/no/such")
    assert not host.exists("/" + 300 * "x")
    assert not host.may_open("/no/such")


def test_text_is_read_without_surrounding_space_whatever_its_bytes(host: Host) -> None:
    host.path("/dev/name").write_bytes(b" inf2 \xff\n")
    assert host.read("/dev/name") == "inf2 \N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("mode", "uid", "groups", "may"),
    [
        (0o666, "stranger", [], True),
        (0o660, "stranger", [], False),
        (0o660, "stranger", ["its"], True),
        (0o640, "stranger", ["its"], False),  # reading alone does not drive a device
        (0o600, "owner", [], True),
        (0o066, "owner", ["its"], False),  # the owner's bits count for the owner, as the kernel has it
        (0o606, "stranger", ["its"], False),
        (0o000, "root", [], True),
    ],
)
def test_permission_is_told_from_the_mode_bits(host: Host, mode: int, uid: str, groups: list[str], may: bool) -> None:
    stat = node(host, "/dev/acme0", mode).stat()
    ids = {"owner": stat.st_uid, "root": 0, "stranger": stat.st_uid + 1000}
    seen = Host(host.root, uid=ids[uid], groups=[stat.st_gid for _ in groups])

    assert seen.may_open("/dev/acme0") is may


def test_packages_are_found_on_the_first_folder_that_has_them(host: Host, tmp_path: Path) -> None:
    package = tmp_path / "site" / "torch_acme"
    package.mkdir(parents=True)
    assert host.package("torch_acme") is None  # a folder alone is no package
    (package / "__init__.py").write_text("raise SystemExit('must not be imported')")
    assert host.package("torch_acme") == package


def test_versions_come_from_metadata_whatever_way_the_name_is_written(host: Host, tmp_path: Path) -> None:
    info = tmp_path / "site" / "torch_acme-2.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-acme\nVersion: 2.1\n")

    assert host.version("torch-acme") == host.version("Torch_Acme") == "2.1"
    assert host.version("torch") is None


def test_without_arguments_it_is_this_machine() -> None:
    assert Host().exists("/")
    assert Host().version("pluggy")
    assert Host().package("pluggy")
