"""Neuron detection on folders that look like machines. Nothing here has seen the hardware."""

from __future__ import annotations

import re
from pathlib import Path

import accelplug_neuron
import pytest
from accelplug_neuron import cores, generations
from hypothesis import given
from hypothesis import strategies as st
from trees import PROBE_UNDER_AUDIT, Tree, in_new_process

from accelplug.specs import Host, Probe, Verdict

SYSFS = "/sys/devices/virtual/neuron_device"
WRONG_PACKAGE = "WRONG PACKAGE. Please install the package from Neuron Repository"

# family as the driver says it, chip, core architecture, physical cores in a device
TRN1 = ("Trn1", "Trainium1", "NCv2", 2)
INF2 = ("Inf2", "Inferentia2", "NCv2", 2)
TRN2 = ("Trn2", "Trainium2", "NCv3", 8)
TRN3 = ("Trn3", "Trainium3", "NCv4", 8)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def probe(host: Host) -> Probe:
    return accelplug_neuron.accelplug_device().probe(host)


def add_machine(tree: Tree, instance: str, chip: tuple[str, str, str, int], devices: int, root: str = SYSFS) -> None:
    """An EC2 instance with the driver loaded: sysfs as documented up to driver 2.30, and a node for each device."""
    family, name, core, count = chip
    tree.file("/sys/devices/virtual/dmi/id/product_name", instance)
    tree.file("/sys/module/neuron/version", "2.30.1.0")
    for number in range(devices):
        tree.node(f"/dev/neuron{number}")
        tree.file(f"{root}/neuron{number}/core_count", str(count))
        tree.file(f"{root}/neuron{number}/connected_devices", f"{(number + 1) % devices}, {(number - 1) % devices}")
        tree.file(f"{root}/neuron{number}/info/architecture/instance_type", family)
        tree.file(f"{root}/neuron{number}/info/architecture/device_name", name)
        tree.file(f"{root}/neuron{number}/neuron_core0/info/architecture/arch_type", core)


def add_software(tree: Tree, version: str = "2.13.3.0") -> None:
    tree.package("torch", "2.13.0")
    tree.package("torch-neuronx", version, backend="torch_neuronx")


# machines


@pytest.mark.parametrize(
    ("instance", "chip", "devices", "count"),
    [("trn2.48xlarge", TRN2, 16, 64), ("trn2u.48xlarge", TRN2, 16, 64), ("trn3.48xlarge", TRN3, 16, 64)],
)
def test_native_generations_are_usable_with_two_physical_cores_in_a_logical_one(
    tree: Tree, instance: str, chip: tuple[str, str, str, int], devices: int, count: int
) -> None:
    add_machine(tree, instance, chip, devices)
    add_software(tree)
    found = probe(tree.host())
    assert (found.verdict, found.count) == (Verdict.usable, count)
    assert found.reason == f"{devices} {chip[0].lower()} devices, {count} logical cores (LNC 2)"
    assert found.remedy == ""


@pytest.mark.parametrize(
    ("instance", "chip"), [("trn1.32xlarge", TRN1), ("trn1n.32xlarge", TRN1), ("inf2.48xlarge", INF2)]
)
def test_older_generations_have_no_native_device_whatever_is_installed(
    tree: Tree, instance: str, chip: tuple[str, str, str, int]
) -> None:
    add_machine(tree, instance, chip, 16)
    add_software(tree)
    found = probe(tree.host())
    assert found.verdict is Verdict.no_software
    assert f"{chip[0].lower()} has no native PyTorch device" in found.reason
    assert "trn2 and trn3" in found.remedy
    assert found.details["logical_nc"] == "1"


def test_details_say_what_the_machine_is(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 2)
    add_software(tree)
    assert probe(tree.host()).details == {
        "generation": "trn2",
        "instance_type": "trn2.48xlarge",
        "devices": "2",
        "cores_per_device": "8",
        "logical_nc": "2",
        "driver": "2.30.1.0",
        "connected_devices": "0: 1, 1; 1: 0, 0",
        "torch": "2.13.0",
        "torch-neuronx": "2.13.3.0",
    }


def test_evidence_says_what_was_looked_at_and_what_was_found(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    add_software(tree)
    evidence = probe(tree.host({"NEURON_RT_NUM_CORES": "8"})).evidence
    assert "/dev/neuron<N>: /dev/neuron0 … /dev/neuron15 (16)" in evidence
    assert "DMI product name: trn2.48xlarge" in evidence
    assert f"generation: trn2 (from {SYSFS}/neuron0/info/architecture/instance_type)" in evidence
    assert f"physical cores in a device: 8 (from {SYSFS}/neuron0/core_count)" in evidence
    assert "entry point torch_neuronx in torch.backends: yes" in evidence
    assert "NEURON_RT_NUM_CORES='8'" in evidence


def test_a_machine_without_anything_is_no_hardware_and_gets_no_remedy(tree: Tree) -> None:
    found = probe(tree.host())
    assert (found.verdict, found.remedy) == (Verdict.no_hardware, "")


def test_software_without_a_device_is_no_hardware_and_gets_no_remedy(tree: Tree) -> None:
    add_software(tree)
    tree.file("/sys/devices/virtual/dmi/id/product_name", "m7i.large")
    found = probe(tree.host())
    assert (found.verdict, found.remedy) == (Verdict.no_hardware, "")
    assert "torch-neuronx 2.13.3.0 is installed, but" in found.reason


def test_nodes_with_other_names_are_no_neuron_devices(tree: Tree) -> None:
    for name in ("neuron", "neuron_misc", "neuron0p1", "xneuron0"):
        tree.node(f"/dev/{name}")
    assert probe(tree.host()).verdict is Verdict.no_hardware


# sysfs layouts


def test_the_class_folder_serves_where_the_virtual_one_is_gone(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 4, root="/sys/class/neuron_device")
    add_software(tree)
    assert probe(tree.host()).count == 16


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("info/architecture/instance_type", "Trn2"),
        ("info/architecture/device_name", "Trainium2"),
        ("neuron_core0/info/architecture/arch_type", "NCv3"),
        ("architecture/instance_type", "trn2.48xlarge"),
        ("info/device_name", "Trainium2"),
    ],
)
def test_any_one_file_tells_the_generation(tree: Tree, path: str, text: str) -> None:
    tree.node("/dev/neuron0")
    tree.file(f"{SYSFS}/neuron0/{path}", text)
    add_software(tree)
    found = probe(tree.host())
    assert (found.details["generation"], found.count) == ("trn2", 4)


def test_the_devices_own_architecture_decides_nothing_since_two_generations_share_it(tree: Tree) -> None:
    tree.node("/dev/neuron0")
    tree.file(f"{SYSFS}/neuron0/info/architecture/arch_type", "NDv3")  # inf2 and trn2
    tree.file(f"{SYSFS}/neuron0/neuron_core0/info/architecture/arch_type", "NCv2")
    add_software(tree)
    assert probe(tree.host()).details["generation"] == "trn1/inf2"


def test_the_cores_of_an_unknown_generation_are_counted_by_folder(tree: Tree) -> None:
    tree.node("/dev/neuron0")
    tree.file("/sys/devices/virtual/dmi/id/product_name", "trn4.48xlarge")
    for core in range(4):
        tree.file(f"{SYSFS}/neuron0/neuron_core{core}/info/serial", "")
    add_software(tree)
    assert probe(tree.host({"NEURON_LOGICAL_NC_CONFIG": "2"})).count == 2


def test_dmi_alone_tells_the_generation_of_nodes_without_sysfs(tree: Tree) -> None:
    tree.node("/dev/neuron0")
    tree.file("/sys/class/dmi/id/product_name", "trn3.48xlarge")
    add_software(tree)
    found = probe(tree.host())
    assert (found.verdict, found.count, found.details["cores_per_device"]) == (Verdict.usable, 4, "8")


@pytest.mark.parametrize("product", ["", "trn4.48xlarge"])
def test_an_unknown_generation_is_usable_and_says_that_its_cores_are_not_counted(tree: Tree, product: str) -> None:
    tree.node("/dev/neuron0")
    tree.node("/dev/neuron1")
    tree.file("/sys/class/dmi/id/product_name", product)
    add_software(tree)
    found = probe(tree.host())
    assert (found.verdict, found.count) == (Verdict.usable, 2)
    assert "nothing tells how many logical cores there are" in found.reason
    assert probe(tree.host({"NEURON_RT_VISIBLE_CORES": "0-2"})).count == 3
    assert probe(tree.host({"NEURON_RT_VISIBLE_CORES": "x"})).verdict is Verdict.hidden


# driver and permission


def test_an_instance_whose_driver_is_not_loaded_is_no_driver(tree: Tree) -> None:
    tree.file("/sys/devices/virtual/dmi/id/product_name", "trn2.48xlarge")
    add_software(tree)
    found = probe(tree.host())
    assert found.verdict is Verdict.no_driver
    assert "trn2.48xlarge" in found.reason
    assert "aws-neuronx-dkms" in found.remedy
    assert "--device" in found.remedy


@pytest.mark.parametrize("software", [True, False])
def test_a_container_without_the_nodes_is_told_to_pass_them(tree: Tree, software: bool) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    for node in (tree.root / "dev").iterdir():
        node.unlink()
    if software:
        add_software(tree)
    found = probe(tree.host())
    assert found.verdict is Verdict.no_driver
    assert found.reason == "the driver sees 16 trn2 devices, but there is no /dev/neuron<N> here"
    assert "--device=/dev/neuron0" in found.remedy


def test_a_driver_problem_on_an_older_generation_says_that_solving_it_is_no_use(tree: Tree) -> None:
    tree.file("/sys/devices/virtual/dmi/id/product_name", "trn1.32xlarge")
    found = probe(tree.host())
    assert found.verdict is Verdict.no_driver
    assert "trn1 has no native PyTorch device" in found.reason


def test_a_loaded_driver_without_a_version_is_seen_in_proc_modules(tree: Tree) -> None:
    tree.file("/sys/devices/virtual/dmi/id/product_name", "trn2.48xlarge")
    tree.file("/proc/modules", "ext4 1000 1 - Live 0x0\nneuron 421888 0 - Live 0x0")
    found = probe(tree.host())
    assert found.details["driver"] == "loaded, version unknown"
    assert found.reason == "the driver is loaded, but there is no /dev/neuron<N> here"


def test_a_node_that_this_user_may_not_open_is_no_driver(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 1)
    add_software(tree)
    tree.node("/dev/neuron0", mode=0o660)
    found = probe(tree.host())
    assert (found.verdict, found.reason) == (Verdict.no_driver, "no permission to open /dev/neuron0")
    assert "group" in found.remedy
    assert probe(tree.host(uid=0)).verdict is Verdict.usable


def test_only_the_devices_that_may_be_opened_count(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 2)
    add_software(tree)
    tree.node("/dev/neuron1", mode=0o600)
    found = probe(tree.host())
    assert found.count == 4
    assert "no permission to open /dev/neuron1" in found.reason


# software


def test_a_card_without_software_is_told_where_to_get_it(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    tree.package("torch", "2.13.0")
    found = probe(tree.host())
    assert (found.verdict, found.reason) == (Verdict.no_software, "torch-neuronx is not installed")
    assert "AWS package index" in found.remedy


def test_without_torch_that_comes_first(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    found = probe(tree.host())
    assert (found.verdict, found.reason) == (Verdict.no_software, "torch is not installed")
    assert found.remedy.startswith("pip install torch")


@pytest.mark.parametrize(("version", "text"), [("1.0", WRONG_PACKAGE), ("1.0", ""), ("9.9", WRONG_PACKAGE)])
def test_the_placeholder_on_pypi_is_named_as_one(tree: Tree, version: str, text: str) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    tree.package("torch", "2.13.0")
    tree.package("torch-neuronx", version, text)
    tree.module("torch_neuronx", "raise ImportError('WRONG PACKAGE')")
    found = probe(tree.host())
    assert found.verdict is Verdict.no_software
    assert f"torch-neuronx {version} is PyPI's placeholder" in found.reason
    assert "AWS package index" in found.remedy
    assert found.details["torch-neuronx"] == f"{version} (PyPI placeholder)"


def test_a_placeholder_on_a_machine_without_a_device_stays_no_hardware(tree: Tree) -> None:
    tree.package("torch-neuronx", "1.0", WRONG_PACKAGE)
    found = probe(tree.host())
    assert (found.verdict, found.remedy) == (Verdict.no_hardware, "")
    assert "torch-neuronx 1.0 (PyPI placeholder) is installed, but" in found.reason


def test_the_torch_xla_generation_is_no_native_software(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    add_software(tree, "2.9.0.2.11.19")
    found = probe(tree.host())
    assert found.verdict is Verdict.no_software
    assert "torch_xla generation" in found.reason
    assert "2.13" in found.remedy


@pytest.mark.parametrize("version", ["2.13.3.0", "2.14.3.0+abc", "3.0"])
def test_later_versions_are_native(tree: Tree, version: str) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    add_software(tree, version)
    assert probe(tree.host()).verdict is Verdict.usable


def test_metadata_without_the_module_is_incomplete(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    tree.package("torch", "2.13.0")
    tree.package("torch-neuronx", "2.13.3.0")
    assert "incomplete" in probe(tree.host()).reason
    tree.module("torch_neuronx", "")
    assert probe(tree.host()).verdict is Verdict.usable


def test_a_version_that_is_none_is_said(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    add_software(tree, "dev")
    assert "'dev', can't be read" in probe(tree.host()).reason


def test_vllms_private_copy_is_shown_and_is_no_replacement(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    tree.package("torch", "2.13.0")
    tree.package("libtorch-neuronx-lite", "0.3.1")
    tree.package("vllm-neuron", "0.1.0", WRONG_PACKAGE)
    found = probe(tree.host())
    assert "libtorch-neuronx-lite is vLLM Neuron's private copy" in found.reason
    assert found.details["libtorch-neuronx-lite"] == "0.3.1"
    assert found.details["vllm-neuron"] == "0.1.0 (PyPI placeholder)"


# what the variables leave


def trn2(tree: Tree, **environ: str) -> Probe:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    add_software(tree)
    return probe(tree.host(environ))


@pytest.mark.parametrize(
    ("environ", "count"),
    [
        ({"NEURON_RT_VISIBLE_CORES": "0-3"}, 4),
        ({"NEURON_RT_VISIBLE_CORES": "0,2"}, 2),
        ({"NEURON_RT_VISIBLE_CORES": " 0-3, 63 "}, 5),
        ({"NEURON_RT_VISIBLE_CORES": "63"}, 1),
        ({"NEURON_RT_NUM_CORES": "8"}, 8),
        ({"NEURON_RT_NUM_CORES": "64"}, 64),
        ({"NEURON_RT_VISIBLE_CORES": "0-3", "NEURON_RT_NUM_CORES": "8"}, 4),
        ({"NEURON_LOGICAL_NC_CONFIG": "1"}, 128),
        ({"NEURON_LOGICAL_NC_CONFIG": "1", "NEURON_RT_VISIBLE_CORES": "64-127"}, 64),
    ],
)
def test_variables_limit_the_logical_cores(tree: Tree, environ: dict[str, str], count: int) -> None:
    found = trn2(tree, **environ)
    assert (found.verdict, found.count) == (Verdict.usable, count)


def test_a_limited_count_says_what_limits_it(tree: Tree) -> None:
    found = trn2(tree, NEURON_RT_VISIBLE_CORES="0-3")
    assert found.reason == "16 trn2 devices, 4 logical cores of 64, by NEURON_RT_VISIBLE_CORES='0-3' (LNC 2)"


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("NEURON_RT_VISIBLE_CORES", "64-67", "absent: 64-67; the logical cores here are 0-63"),
        ("NEURON_RT_VISIBLE_CORES", "0,64", "absent: 64;"),
        ("NEURON_RT_VISIBLE_CORES", "", "names no core"),
        ("NEURON_RT_VISIBLE_CORES", "a-b", "'a-b' is neither a core (2) nor a range (0-3)"),
        ("NEURON_RT_VISIBLE_CORES", "0,,2", "'' is neither"),
        ("NEURON_RT_VISIBLE_CORES", "-1", "'-1' is neither"),
        ("NEURON_RT_VISIBLE_CORES", "3-0", "the range 3-0 runs backwards"),
        ("NEURON_RT_VISIBLE_CORES", "0-99999999999", "no machine has a core 99999999999"),
        ("NEURON_RT_NUM_CORES", "65", "must be a number from 1 to 64"),
        ("NEURON_RT_NUM_CORES", "0", "must be a number from 1 to 64"),
        ("NEURON_RT_NUM_CORES", "all", "must be a number from 1 to 64"),
        ("NEURON_LOGICAL_NC_CONFIG", "3", "must be 1 or 2 on trn2"),
        ("NEURON_LOGICAL_NC_CONFIG", "", "must be 1 or 2 on trn2"),
    ],
)
def test_what_the_runtime_would_refuse_is_hidden_and_names_the_variable(
    tree: Tree, variable: str, value: str, problem: str
) -> None:
    found = trn2(tree, **{variable: value})
    assert (found.verdict, found.count) == (Verdict.hidden, 0)
    assert f"16 trn2 devices, hidden by {variable}={value!r}: " in found.reason
    assert problem in found.reason
    assert found.remedy == f"unset {variable}, or correct it"


def pod(tree: Tree, devices: range, **environ: str) -> Probe:
    """A container on a trn2.48xlarge with some of its devices, and sysfs that shows all of them."""
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    add_software(tree)
    for number in {*range(16)} - {*devices}:
        (tree.root / f"dev/neuron{number}").unlink()
    return probe(tree.host({"AWS_NEURON_VISIBLE_DEVICES": f"{devices[0]}-{devices[-1]}"} | environ))


def test_a_pod_counts_its_own_devices_not_those_of_the_machine(tree: Tree) -> None:
    found = pod(tree, range(4, 8))
    assert (found.count, found.details["devices"]) == (16, "4 of 16")
    assert "AWS_NEURON_VISIBLE_DEVICES (what the container was given): '4-7'" in found.evidence


@pytest.mark.parametrize("visible", ["0-3", "16-19"])
def test_a_pod_may_call_its_cores_by_either_numbering(tree: Tree, visible: str) -> None:
    assert pod(tree, range(4, 8), NEURON_RT_VISIBLE_CORES=visible).count == 4


def test_a_pod_that_names_another_pods_cores_is_hidden(tree: Tree) -> None:
    found = pod(tree, range(4, 8), NEURON_RT_VISIBLE_CORES="32-35")
    assert found.verdict is Verdict.hidden
    assert "hidden by NEURON_RT_VISIBLE_CORES='32-35': absent: 32-35; the logical cores here are 0-31" in found.reason


# the parser


@given(st.sets(st.integers(0, 600), min_size=1))
def test_formatted_cores_parse_to_the_same_cores(ids: set[int]) -> None:
    assert cores.parse_cores(cores.format_cores(ids)) == ids


@given(st.lists(st.integers(0, 600), min_size=1), st.sampled_from([",", " ,", ", "]))
def test_listed_cores_parse_in_any_order_spacing_and_number(ids: list[int], comma: str) -> None:
    assert cores.parse_cores(comma.join(map(str, ids))) == set(ids)


@given(st.text(alphabet="0123456789-, x٣", max_size=12))
def test_any_text_is_cores_or_a_setting_error(text: str) -> None:
    entry = r"\s*[0-9]+(-[0-9]+)?\s*"
    if not re.fullmatch(f"{entry}(,{entry})*", text):
        with pytest.raises(cores.SettingError, match=r"^NEURON_RT_VISIBLE_CORES="):
            cores.parse_cores(text)
        return
    try:
        ids = cores.parse_cores(text)
    except cores.SettingError:
        numbers = [[int(number) for number in part.split("-")] for part in text.split(",")]
        wrong = [part for part in numbers if part[0] > part[-1] or part[-1] > cores.LAST_CORE]
        assert wrong, f"refused {text!r}, in which nothing is wrong"
    else:
        assert {int(number) for number in re.findall("[0-9]+", text)} <= ids


@given(st.sets(st.integers(0, 15), min_size=1), st.integers(1, 8))
def test_every_device_brings_its_cores_by_place_and_by_number(devices: set[int], per_device: int) -> None:
    ids = cores.logical_ids(sorted(devices), per_device)
    assert set(range(len(devices) * per_device)) <= ids
    assert all({number * per_device, (number + 1) * per_device - 1} <= ids for number in devices)


@given(st.data())
def test_visible_cores_never_count_more_than_there_are(data: st.DataObject) -> None:
    devices = sorted(data.draw(st.sets(st.integers(0, 15), min_size=1)))
    ids = cores.logical_ids(devices, 4)
    named = data.draw(st.sets(st.sampled_from(sorted(ids)), min_size=1))
    count = cores.visible({cores.VISIBLE_CORES: cores.format_cores(named)}, ids, len(devices) * 4)
    assert 1 <= count <= min(len(named), len(devices) * 4)


@pytest.mark.parametrize(
    ("instance", "generation"),
    [
        ("inf1.xlarge", "inf1"),
        ("inf2.8xlarge", "inf2"),
        ("trn1n.32xlarge", "trn1"),
        ("trn2u-ac.24xlarge", "trn2"),
        ("trn3-dev0.48xlarge", "trn3"),
        ("Trn2", "trn2"),
        ("p5.48xlarge", ""),
        ("trnx.large", ""),
        ("trn2000 Desktop", ""),
        ("", ""),
    ],
)
def test_instance_types_tell_their_generation(instance: str, generation: str) -> None:
    assert generations.from_instance_type(instance) == generation


# side effects


def test_probing_imports_no_sdk_and_opens_no_device_node(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 2)
    add_software(tree)
    tree.module("torch_neuronx", "raise SystemExit('the probe imported the SDK')")
    done = in_new_process(PROBE_UNDER_AUDIT.format(name="neuron", environ={}), tree)
    assert done.stdout == "clean\n", done.stderr


def test_loading_imports_the_sdk_which_registers_the_device(tree: Tree) -> None:
    tree.module(
        "torch_neuronx",
        "import torch, types; torch.utils.rename_privateuse1_backend('neuron'); "
        "torch._register_device_module('neuron', types.ModuleType('torch.neuron'))",
    )
    code = "from accelplug_neuron.load import load; load(); import torch; print(torch.device('neuron:1'))"
    done = in_new_process(code, tree, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.stdout == "neuron:1\n", done.stderr


def test_loading_an_sdk_that_brings_no_device_is_an_error_that_names_it(tree: Tree) -> None:
    tree.module("torch_neuronx", "")
    done = in_new_process("from accelplug_neuron.load import load; load()", tree)
    assert f"torch_neuronx was imported from {tree.site}" in done.stderr
    assert "2.13 and later" in done.stderr
