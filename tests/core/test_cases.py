"""Faults that real users of such systems met, as situations to get right; C1 to C25 are the project's list of them."""

from __future__ import annotations

import logging
from pathlib import Path

import gpu_trees
import pytest
from backend_site import HEAD, Site

import accelplug
from accelplug import show
from accelplug.errors import BadInputError, DeviceUnusableError, UnknownDeviceError
from accelplug.plugins import discover
from accelplug.selection import choose, require
from accelplug.settings import Settings, Sourced, misspelt, read
from accelplug.specs import Host, Verdict

DEFAULTS = Sourced(Settings(), {})


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_c1_two_usable_backends_have_one_winner_and_the_loser_is_available_outranked(
    site: Site, cpu_only: Host
) -> None:
    site.backend("acme", priority=900)
    site.backend("zenith", priority=900)

    selection = choose(DEFAULTS, host=cpu_only)
    assert (selection.chosen, selection.decided_by) == ("acme", "name (equal priority)")
    assert show.reason(selection["zenith"], selection).startswith("available, outranked; there")
    assert choose(DEFAULTS, "zenith", host=cpu_only).chosen == "zenith"


def test_c2_a_probe_that_raises_is_broken_and_the_others_still_load(
    site: Site, cpu_only: Host, caplog: pytest.LogCaptureFixture
) -> None:
    site.backend("acme", "raise OSError('libacme.so: undefined symbol: _ZN3c10')", distribution="acme-accelplug")

    for _ in range(2):
        selection = choose(DEFAULTS, host=cpu_only)

    assert selection.chosen == "cpu"
    assert selection["acme"].verdict is Verdict.broken
    assert "Traceback" in selection["acme"].error
    assert "undefined symbol" in selection["acme"].error
    (warning,) = warnings(caplog)
    for part in ("acme-accelplug 1.2.3", "OSError: libacme.so: undefined symbol: _ZN3c10"):
        assert part in warning


def test_c2_a_module_that_does_not_import_is_broken_and_the_others_still_load(
    site: Site, cpu_only: Host, caplog: pytest.LogCaptureFixture
) -> None:
    site.module("acme", "import acme_sdk", "acme-accelplug")
    site.backend("fine", priority=900)

    for _ in range(2):
        discover.cache_clear()
        selection = choose(DEFAULTS, host=cpu_only)

    assert selection.chosen == "fine"
    assert selection["acme"].verdict is Verdict.broken
    assert "import acme_sdk" in selection["acme"].error
    (warning,) = warnings(caplog)
    for part in ("acme-accelplug 1.2.3", "No module named 'acme_sdk'"):
        assert part in warning


@pytest.mark.parametrize("source", ["import acme_sdk", HEAD + "@hookimpl\ndef accelplug_device(): raise OSError"])
def test_c2_asking_for_the_broken_one_is_an_error_with_exit_code_1(site: Site, cpu_only: Host, source: str) -> None:
    site.module("acme", source)
    with pytest.raises(DeviceUnusableError, match=r"acme +broken") as caught:
        require(choose(DEFAULTS, "acme", host=cpu_only))
    assert caught.value.exit_code == 1


def test_c3_no_software_no_hardware_and_no_permission_are_three_verdicts(cpu_only: Host, tmp_path: Path) -> None:
    box = gpu_trees.nvidia(tmp_path / "box")
    cuda_torch = gpu_trees.torch_site(tmp_path / "site", "libtorch_cuda.so")
    shut = gpu_trees.nvidia(tmp_path / "shut", gpus=1)
    (shut / "dev/nvidia0").chmod(0o600)
    hosts = {
        "hardware without software": Host(box, environ={}, site=cpu_only.site),
        "software without hardware": Host(tmp_path / "empty", environ={}, site=[cuda_torch]),
        "driver without permission": Host(shut, environ={}, site=[cuda_torch], uid=54321, groups=[]),
    }

    seen = {situation: choose(DEFAULTS, host=host)["cuda"] for situation, host in hosts.items()}

    assert [candidate.verdict for candidate in seen.values()] == ["no_software", "no_hardware", "no_driver"]
    assert [bool(candidate.remedy) for candidate in seen.values()] == [True, False, True]


def test_c4_devices_hidden_by_a_variable_are_said_to_be_hidden_by_it(tmp_path: Path) -> None:
    selection = choose(DEFAULTS, host=gpu_trees.cuda_box(tmp_path, CUDA_VISIBLE_DEVICES=""))

    assert selection.chosen == "cpu"
    assert selection["cuda"].verdict is Verdict.hidden
    assert "hidden by CUDA_VISIBLE_DEVICES=''" in selection["cuda"].reason


def test_c4_an_importable_sdk_without_devices_is_not_usable(site: Site, cpu_only: Host) -> None:
    site.backend("acme", "return Probe(verdict='usable', reason='acme_sdk imports', count=0)", priority=900)
    selection = choose(DEFAULTS, host=cpu_only)
    assert (selection.chosen, selection["acme"].verdict) == ("cpu", "broken")


def test_c5_a_third_party_backend_may_outrank_every_built_in_one(site: Site, tmp_path: Path) -> None:
    host = gpu_trees.cuda_box(tmp_path)
    assert choose(DEFAULTS, host=host).chosen == "cuda"

    site.backend("acme", priority=900)

    assert choose(DEFAULTS, host=host).chosen == "acme"


@pytest.mark.parametrize("asked", [{"argument": "nuron"}, {"variable": "nuron"}, {"file": "nuron"}])
def test_c6_a_misspelt_device_is_an_error_and_never_the_cpu(
    asked: dict[str, str], cpu_only: Host, tmp_path: Path
) -> None:
    config = tmp_path / "my.toml"
    config.write_text(f'device = "{asked.get("file", "auto")}"\n')
    environ = {"ACCELPLUG_CONFIG": str(config), "ACCELPLUG_DEVICE": asked.get("variable", "")}
    origin = {"argument": "argument", "variable": "ACCELPLUG_DEVICE", "file": str(config)}[next(iter(asked))]

    with pytest.raises(UnknownDeviceError) as caught:
        choose(read(environ), asked.get("argument"), host=cpu_only)
    for part in ("'nuron'", origin, "did you mean 'neuron'", "known: auto, cuda"):
        assert part in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (None, ["ACCELPLUG_CONFIG", "not a file", "correct the path or unset it"]),
        ('devise = "cuda"', ["unknown key 'devise'", "did you mean 'device'", "allowed: device, backends"]),
        ('device = "cuda"\ndevice = "cpu"', ["Cannot overwrite a value", "given twice: device"]),
        ('cpu_fallback = "eror"', ["cpu_fallback", "'eror'", "'allow' or 'error'", "did you mean 'error'"]),
        ("probe_timeout = -1", ["probe_timeout", "-1", "greater than 0"]),
    ],
    ids=["not there", "unknown key", "duplicate key", "bad value", "out of range"],
)
def test_c6_a_wrong_config_file_is_an_error_with_its_path(
    content: str | None, parts: list[str], tmp_path: Path
) -> None:
    config = tmp_path / "my.toml"
    if content is not None:
        config.write_text(content)

    with pytest.raises(BadInputError) as caught:
        read({"ACCELPLUG_CONFIG": str(config)})
    for part in [str(config), *parts]:
        assert part in str(caught.value)
    assert caught.value.exit_code == 2


def test_c7_an_sdk_that_answers_for_cuda_does_not_make_cuda_usable(site: Site, cpu_only: Host) -> None:
    site.backend("acme", priority=100, masquerades_as=("cuda",))

    selection = choose(DEFAULTS, host=cpu_only)
    assert selection.chosen == "acme"
    assert selection["cuda"].verdict is Verdict.no_hardware
    assert "torch.cuda is answered by acme's SDK" in selection["cuda"].reason


def test_c7_beside_a_real_gpu_the_masquerade_changes_nothing(site: Site, tmp_path: Path) -> None:
    site.backend("acme", priority=100, masquerades_as=("cuda",))

    selection = choose(DEFAULTS, host=gpu_trees.cuda_box(tmp_path))
    assert selection.chosen == "cuda"
    assert "acme" not in selection["cuda"].reason


def test_c8_of_a_broken_a_usable_and_the_cpu_the_second_is_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.backend("acme", "raise OSError('no')", priority=900)
    site.backend("beta", priority=1)
    monkeypatch.setenv("ACCELPLUG_DEVICE", "acme,beta,cpu")
    assert (accelplug.devices().chosen, accelplug.auto().name) == ("beta", "beta")


def test_c8_named_devices_never_end_on_a_cpu_that_is_not_named(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.backend("acme", "raise OSError('no')")
    site.backend("beta", "return Probe(verdict='no_driver', reason='no')")
    monkeypatch.setenv("ACCELPLUG_DEVICE", "acme,beta")
    with pytest.raises(DeviceUnusableError, match=r"'acme,beta' \(from ACCELPLUG_DEVICE\) is not usable"):
        accelplug.auto()


def test_c8_a_forbidden_fallback_to_the_cpu_raises(cpu_only: Host) -> None:
    settings = read({"ACCELPLUG_CPU_FALLBACK": "error"})
    with pytest.raises(DeviceUnusableError, match="cpu_fallback = error from ACCELPLUG_CPU_FALLBACK"):
        require(choose(settings, host=cpu_only))
    assert choose(settings, "cpu", host=cpu_only).chosen == "cpu"  # asked for by name, it is no fallback


def test_c22_looking_for_backends_twice_imports_them_once(site: Site, tmp_path: Path) -> None:
    log = tmp_path / "imports"
    site.backend("acme", head=f"open({str(log)!r}, 'a').write('imported ')\n")

    assert discover() is discover()
    assert log.read_text() == "imported "


def test_c22_two_implementations_of_one_name_are_a_conflict_naming_both(
    site: Site, cpu_only: Host, tmp_path: Path
) -> None:
    log = tmp_path / "imports"
    for distribution in ("acme-one", "acme-two"):
        site.backend("acme", head=f"open({str(log)!r}, 'a')\n", distribution=distribution, priority=900)

    selection = choose(DEFAULTS, host=cpu_only)

    assert (selection.chosen, selection["acme"].verdict) == ("cpu", "broken")
    for part in ("acme-one 1.2.3", "acme-two 1.2.3", "uninstall one of them"):
        assert part in selection["acme"].reason
    assert not log.exists()  # neither of them is run


def test_c25_a_misspelt_variable_is_said_once_with_the_nearest_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, site: Site
) -> None:
    monkeypatch.setenv("ACCELPLUG_DEVCE", "neuron")
    monkeypatch.setenv("ACCELPLUG_ZZZ", "1")

    accelplug.devices()
    accelplug.devices()

    near, far = warnings(caplog)
    assert near == "ACCELPLUG_DEVCE is not a setting of accelplug and does nothing; did you mean ACCELPLUG_DEVICE?"
    assert far.startswith("ACCELPLUG_ZZZ is not a setting of accelplug and does nothing; known: ACCELPLUG_DEVICE, ")


@pytest.mark.parametrize("name", ["ACCELPLUG_DEVICE", "ACCELPLUG_CONFIG", "ACCELPLUG_SELECTION", "OTHER_DEVCE"])
def test_c25_a_variable_that_is_right_or_not_ours_is_not_warned_of(name: str) -> None:
    assert misspelt({name: "x"}) == []
