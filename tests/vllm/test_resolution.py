"""Which platform vLLM gets. Every test goes through vLLM's own resolution."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from accelplug_vllm import handoff, resolution
from backend_site import Site

from accelplug.errors import BadInputError, DeviceUnusableError, UnknownDeviceError
from tests.vllm.conftest import InstallPlugin

Resolve = Callable[[], str]


def get(qualname: str) -> object:
    from vllm.utils.import_utils import resolve_obj_by_qualname

    return resolve_obj_by_qualname(qualname)


def test_a_plain_machine_gets_vllms_own_cpu_platform_subclassed(resolve: Resolve) -> None:
    from vllm.platforms.cpu import CpuPlatform
    from vllm.platforms.interface import PlatformEnum

    platform = get(resolve())
    assert isinstance(platform, type)
    assert issubclass(platform, CpuPlatform)
    assert platform._enum is PlatformEnum.CPU
    overridden = {name for name in vars(platform) if not name.startswith("__")}
    overridden -= {"ray_device_key"}  # which checking a configuration sets
    assert overridden == {"pre_register_and_update", "check_and_update_config"}, "nothing on the hot path"


def test_asking_twice_gives_the_same_platform(resolve: Resolve) -> None:
    assert get(resolve()) is get(resolve())


def test_a_plain_machine_sees_no_warning(resolve: Resolve, caplog: pytest.LogCaptureFixture) -> None:
    resolve()
    assert [r for r in caplog.records if r.levelno >= logging.WARNING and "accelplug" in r.name] == []


def test_a_device_that_is_not_usable_stops_vllm_with_the_verdicts(
    resolve: Resolve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCELPLUG_DEVICE", "neuron")
    qualname = resolve()
    with pytest.raises(DeviceUnusableError, match=r"(?s)neuron +no_hardware.*usable here: cpu"):
        get(qualname)


def test_a_misspelt_device_never_becomes_the_cpu(resolve: Resolve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELPLUG_DEVICE", "nuron")
    qualname = resolve()
    with pytest.raises(UnknownDeviceError, match="did you mean 'neuron'"):
        get(qualname)


def test_a_bad_setting_stops_vllm(resolve: Resolve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELPLUG_CPU_DEFAULTS", "perhaps")
    qualname = resolve()
    with pytest.raises(BadInputError, match="ACCELPLUG_CPU_DEFAULTS"):
        get(qualname)


def test_a_vendors_plugin_for_the_chosen_device_is_left_in_charge(
    resolve: Resolve, install_plugin: InstallPlugin, caplog: pytest.LogCaptureFixture
) -> None:
    install_plugin("pace", "pace-vllm", "return 'vllm.platforms.cpu.CpuPlatform'")
    assert resolve() == "vllm.platforms.cpu.CpuPlatform"
    assert resolution.decide().stands_aside_for == "pace"
    assert "left to the plug-in pace (pace-vllm 1.0)" in caplog.text


def test_a_plugin_that_claims_the_platform_without_its_hardware_is_left_out(
    resolve: Resolve, install_plugin: InstallPlugin
) -> None:
    install_plugin("spyre_inference", "spyre-inference")
    assert resolve() == "accelplug_vllm.platform.cpu"
    assert resolution.decide().silenced == ("spyre_inference",)


def test_several_vendors_in_one_image_do_not_collide(resolve: Resolve, install_plugin: InstallPlugin) -> None:
    install_plugin("spyre_inference", "spyre-inference")
    install_plugin("neuron", "vllm-neuron")
    install_plugin("optimum_neuron", "optimum-neuron")
    assert resolve() == "accelplug_vllm.platform.cpu"
    assert resolution.decide().silenced == ("neuron", "optimum_neuron", "spyre_inference")


def test_a_plugin_for_hardware_that_accelplug_does_not_know_wins_over_the_cpu(
    resolve: Resolve, install_plugin: InstallPlugin
) -> None:
    install_plugin("ascend", "vllm-ascend", "return 'vllm_ascend.platform.NPUPlatform'")
    assert resolve() == "vllm_ascend.platform.NPUPlatform"


def test_a_plugin_for_unknown_hardware_does_not_win_over_a_cpu_that_was_asked_for(
    resolve: Resolve, install_plugin: InstallPlugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_plugin("ascend", "vllm-ascend", "return 'vllm_ascend.platform.NPUPlatform'")
    monkeypatch.setenv("ACCELPLUG_DEVICE", "cpu")
    assert resolve() == "accelplug_vllm.platform.cpu"


def test_a_plugin_that_declines_is_nobodys_business(resolve: Resolve, install_plugin: InstallPlugin) -> None:
    install_plugin("ascend", "vllm-ascend", "return None")
    assert resolve() == "accelplug_vllm.platform.cpu"
    assert resolution.decide().silenced == ()


def test_a_plugin_that_fails_is_named(
    resolve: Resolve, install_plugin: InstallPlugin, caplog: pytest.LogCaptureFixture
) -> None:
    install_plugin("ascend", "vllm-ascend", "raise OSError('undefined symbol: aclInit')")
    assert resolve() == "accelplug_vllm.platform.cpu"
    assert "ascend (vllm-ascend 1.0) failed: OSError: undefined symbol: aclInit" in caplog.text


READS_THE_PLATFORM = "import vllm.platforms; vllm.platforms.current_platform; "


def test_a_backend_that_reads_the_platform_while_it_is_chosen_is_stopped_and_named(
    resolve: Resolve, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    import vllm.platforms

    monkeypatch.setattr(vllm.platforms, "_current_platform", None)
    site.backend("acme", READS_THE_PLATFORM + "return Probe(verdict='usable', reason='there')", priority=900)
    assert resolve() == "accelplug_vllm.platform.cpu"
    selection = resolution.decide().selection
    assert selection is not None
    assert selection["acme"].verdict.value == "broken"
    assert "acme reads vllm.platforms.current_platform" in selection["acme"].reason


@pytest.mark.parametrize("install_plugin", ["found after accelplug"], indirect=True)
def test_a_plugin_that_reads_the_platform_while_it_is_chosen_is_named(
    resolve: Resolve, install_plugin: InstallPlugin, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import vllm.platforms

    monkeypatch.setattr(vllm.platforms, "_current_platform", None)
    install_plugin("ascend", "vllm-ascend", READS_THE_PLATFORM + "return 'vllm.platforms.cpu.CpuPlatform'")
    resolve()
    assert "ascend reads vllm.platforms.current_platform" in caplog.text


@pytest.mark.parametrize("device", ["neuron", "spyre"])
def test_a_device_with_an_sdk_gets_a_platform_of_accelplugs_own(
    resolve: Resolve, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCELPLUG_SIMULATE", device)
    assert resolve() == f"accelplug_vllm.native.platform.{device}"


def test_the_vendors_own_plugin_is_left_in_charge_of_a_device_with_an_sdk(
    resolve: Resolve, install_plugin: InstallPlugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_plugin("neuron", "vllm-neuron", "return 'vllm_neuron.platform.NeuronPlatform'")
    monkeypatch.setenv("ACCELPLUG_SIMULATE", "neuron")
    assert resolve() == "vllm_neuron.platform.NeuronPlatform"
    assert resolution.decide().stands_aside_for == "neuron"


def test_accelplugs_platform_can_be_asked_for_instead_of_the_vendors(
    resolve: Resolve, install_plugin: InstallPlugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_plugin("neuron", "vllm-neuron", "return 'vllm_neuron.platform.NeuronPlatform'")
    monkeypatch.setenv("ACCELPLUG_SIMULATE", "neuron")
    monkeypatch.setenv("ACCELPLUG_VLLM_PLATFORM", "accelplug")
    assert resolve() == "accelplug_vllm.native.platform.neuron"
    assert resolution.decide().silenced == ("neuron",)


def test_a_plugin_for_unknown_hardware_does_not_win_where_accelplugs_platform_is_asked_for(
    resolve: Resolve, install_plugin: InstallPlugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_plugin("ascend", "vllm-ascend", "return 'vllm_ascend.platform.NPUPlatform'")
    monkeypatch.setenv("ACCELPLUG_VLLM_PLATFORM", "accelplug")
    assert resolve() == "accelplug_vllm.platform.cpu"


def test_the_vendors_platform_can_be_asked_for(
    resolve: Resolve, install_plugin: InstallPlugin, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    install_plugin("spyre_inference", "spyre-inference", "return 'spyre_inference.platform.TorchSpyrePlatform'")
    monkeypatch.setenv("ACCELPLUG_SIMULATE", "spyre")
    monkeypatch.setenv("ACCELPLUG_VLLM_PLATFORM", "vendor")
    assert resolve() == "spyre_inference.platform.TorchSpyrePlatform"
    assert resolve() == "spyre_inference.platform.TorchSpyrePlatform"
    assert caplog.text.count("left to the plug-in spyre_inference (spyre-inference 1.0)") == 1


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ("", "neuron is not installed"),
        ("return None", r"neuron \(vllm-neuron 1.0\) declines the platform"),
        ("raise OSError('libnrt.so')", r"neuron \(vllm-neuron 1.0\) fails, see above"),
    ],
    ids=["not installed", "declines", "fails"],
)
def test_asking_for_the_vendors_platform_is_an_error_where_it_is_not_there(
    claim: str, why: str, resolve: Resolve, install_plugin: InstallPlugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    if claim:
        install_plugin("neuron", "vllm-neuron", claim)
    monkeypatch.setenv("ACCELPLUG_SIMULATE", "neuron")
    monkeypatch.setenv("ACCELPLUG_VLLM_PLATFORM", "vendor")
    with pytest.raises(BadInputError, match=f"ACCELPLUG_VLLM_PLATFORM: .*{why}.*install or repair one, or set it to"):
        get(resolve())


def test_asking_for_the_vendors_platform_is_an_error_where_the_backend_names_none(
    resolve: Resolve, monkeypatch: pytest.MonkeyPatch, site: Site
) -> None:
    site.backend("acme", priority=900)
    monkeypatch.setenv("ACCELPLUG_VLLM_PLATFORM", "vendor")
    with pytest.raises(BadInputError, match="the backend of acme names no vLLM plug-in of its vendor; set it to auto"):
        get(resolve())


def test_a_backend_for_a_device_that_vllm_has_in_tree_gets_that_platform(resolve: Resolve, site: Site) -> None:
    site.backend("acme", priority=900)  # its torch_type is "cpu"
    assert resolve() == "accelplug_vllm.platform.cpu"
    selection = resolution.decide().selection
    assert selection is not None
    assert selection.chosen == "acme"


def test_a_usable_device_that_vllm_cannot_drive_is_passed_over_with_the_reason(resolve: Resolve, site: Site) -> None:
    site.module(
        "acme",
        "from accelplug.hookspecs import hookimpl\n"
        "from accelplug.specs import DeviceSpec, Probe\n"
        "@hookimpl\n"
        "def accelplug_device():\n"
        "    return DeviceSpec(name='acme', title='Acme', torch_type='acme', priority=900,\n"
        "                      probe=lambda host: Probe(verdict='usable', reason='4 cards', count=4))\n",
    )
    assert resolve() == "accelplug_vllm.platform.cpu"
    selection = resolution.decide().selection
    assert selection is not None
    assert selection["acme"].reason == "4 cards, but vLLM has no platform of its own for acme devices"


def test_what_is_not_on_the_allow_list_is_not_imported_for_vllm_either(
    resolve: Resolve, site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    site.backend("acme", head=f"open({str(tmp_path / 'imported')!r}, 'w').close()\n")
    monkeypatch.setenv("ACCELPLUG_BACKENDS", "cpu,cuda")
    assert resolve() == "accelplug_vllm.platform.cpu"
    assert not (tmp_path / "imported").exists()


def test_the_processes_of_a_server_load_only_the_backend_of_its_device(
    resolve: Resolve, site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    site.backend("acme", head=f"open({str(tmp_path / 'imported')!r}, 'w').close()\n", priority=900)
    handoff.leave(handoff.Handoff(device="cpu", pid=1))
    monkeypatch.setattr(handoff, "received", handoff.left)  # as in a process that multiprocessing started
    assert resolve() == "accelplug_vllm.platform.cpu"
    assert not (tmp_path / "imported").exists()
