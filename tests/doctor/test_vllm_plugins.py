"""C19 and C20: what keeps vLLM from finding accelplug, and who else claims its platform."""

from __future__ import annotations

import pytest
from accelplug_vllm.checks import checks, plugins
from findings import bad

from accelplug.doctor import Level

OURS = {
    "vllm.platform_plugins:accelplug": "accelplug_vllm:register",
    "vllm.general_plugins:accelplug_general": "accelplug_vllm:general",
}


def findings(packages, **environ):
    return bad(plugins.checks(packages.host(**environ)))


def test_accelplug_alone_is_found(packages):
    packages.install("accelplug", entry_points=OURS)
    assert findings(packages) == []


def test_an_entry_point_of_ours_that_is_not_registered_is_an_error(packages):
    packages.install("accelplug", entry_points={"vllm.platform_plugins:accelplug": "accelplug_vllm:register"})
    (finding,) = findings(packages)
    assert "accelplug_general" in finding.summary
    assert finding.level is Level.error


def test_vllm_plugins_that_hides_us_is_an_error_with_the_value_to_set(packages):
    packages.install("accelplug", entry_points=OURS)
    (finding,) = findings(packages, VLLM_PLUGINS="lora_filesystem_resolver")
    assert finding.level is Level.error
    assert "keeps out accelplug and accelplug_general" in finding.summary
    assert "VLLM_PLUGINS=lora_filesystem_resolver,accelplug,accelplug_general" in finding.remedy


def test_vllm_plugins_with_a_space_hides_us_too_because_vllm_compares_exactly(packages):
    packages.install("accelplug", entry_points=OURS)
    (finding,) = findings(packages, VLLM_PLUGINS="accelplug, accelplug_general")
    assert "keeps out accelplug_general" in finding.summary
    assert finding.remedy.endswith("VLLM_PLUGINS=accelplug,accelplug_general")


def test_vllm_target_device_cpu_is_an_error_because_vllm_then_asks_no_plugin(packages):
    packages.install("accelplug", entry_points=OURS)
    (finding,) = findings(packages, VLLM_TARGET_DEVICE="CPU")
    assert finding.level is Level.error
    assert "unset VLLM_TARGET_DEVICE" in finding.remedy


@pytest.mark.parametrize("name", ["cpu", "cuda", "rocm", "xpu", "tpu"])
def test_a_reserved_name_is_an_error_that_names_the_package(packages, name):
    packages.install("accelplug", entry_points=OURS)
    packages.install("acme-vllm", "0.3", entry_points={f"vllm.platform_plugins:{name}": "acme:register"})
    (finding,) = findings(packages)
    assert finding.level is Level.error
    assert f"acme-vllm 0.3 names a platform {name!r}" in finding.summary
    assert finding.remedy == "pip uninstall acme-vllm, or set VLLM_PLUGINS=accelplug,accelplug_general"


def test_each_rival_is_named_with_what_to_uninstall_or_set(packages):
    packages.install("accelplug", entry_points=OURS)
    for name in ("vllm-neuron", "spyre-inference"):
        packages.install(name, entry_points={f"vllm.platform_plugins:{name.replace('-', '_')}": "x:register"})
    spyre, neuron = findings(packages)
    assert "spyre-inference 1.0 also claims vLLM's platform, as 'spyre_inference'" in spyre.summary
    assert "pip uninstall vllm-neuron, or set VLLM_PLUGINS=" in neuron.remedy
    assert {spyre.level, neuron.level} == {Level.warning}


def test_a_rival_that_vllm_plugins_keeps_out_is_no_problem(packages):
    packages.install("accelplug", entry_points=OURS)
    packages.install("vllm-neuron", entry_points={"vllm.platform_plugins:neuron": "x:register"})
    assert findings(packages, VLLM_PLUGINS="accelplug,accelplug_general") == []


def test_without_vllm_nothing_is_said_about_its_plugins(packages):
    packages.install("acme-vllm", entry_points={"vllm.platform_plugins:cpu": "acme:register"})
    assert {finding.check for finding in checks(packages.host())} == {"vllm"}


def test_what_vllm_plugins_keeps_out_already_stays_out_of_the_value_to_set(packages):
    packages.install("accelplug", entry_points=OURS)
    packages.install("vllm-neuron", entry_points={"vllm.platform_plugins:neuron": "vllm_neuron:register"})
    packages.install(
        "resolvers", entry_points={"vllm.general_plugins:hub": "hub:f", "vllm.general_plugins:disk": "disk:f"}
    )
    (rival,) = findings(packages, VLLM_PLUGINS="accelplug,accelplug_general,neuron,disk")
    assert rival.remedy.endswith("set VLLM_PLUGINS=accelplug,accelplug_general,disk")
