"""Loading torch-neuronx: only where it fits, and with an error where it brings no device. On modules made up here."""

from __future__ import annotations

import pytest
from neuron_machines import add_software
from trees import Tree, in_new_process

LOAD = "from accelplug_neuron.load import load; load()"


def test_loading_imports_the_sdk_which_registers_the_device(tree: Tree) -> None:
    add_software(tree)
    tree.module(
        "torch_neuronx",
        "import torch, types; torch.utils.rename_privateuse1_backend('neuron'); "
        "torch._register_device_module('neuron', types.ModuleType('torch.neuron'))",
    )
    code = f"{LOAD}; import torch; print(torch.device('neuron:1'))"
    done = in_new_process(code, tree, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.stdout == "neuron:1\n", done.stderr


def test_loading_an_sdk_that_brings_no_device_is_an_error_that_names_it(tree: Tree) -> None:
    add_software(tree)
    tree.module("torch_neuronx", "")
    done = in_new_process(LOAD, tree, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert f"torch_neuronx 2.13.3.0 was imported from {tree.site}" in done.stderr
    assert "there is no torch.neuron" in done.stderr


@pytest.mark.parametrize(
    ("version", "error"),
    [
        ("2.9.0.2.11", "RuntimeError: torch-neuronx 2.9.0.2.11 is of the torch_xla generation"),
        ("beta", "RuntimeError: the version of the installed torch-neuronx, 'beta', can't be read"),
        ("", "ModuleNotFoundError: torch-neuronx is not installed"),
    ],
)
def test_an_sdk_of_the_wrong_version_is_refused_before_it_is_imported(tree: Tree, version: str, error: str) -> None:
    if version:
        add_software(tree, version)
    tree.module("torch_neuronx", "raise SystemExit('imported')")
    done = in_new_process(LOAD, tree, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert error in done.stderr
    assert "accelplug explain --device neuron" in done.stderr


def test_the_compilers_versions_are_in_the_cache_key_of_graphs(tree: Tree) -> None:
    add_software(tree)
    tree.package("neuronx-cc", "2.25.1280.0")
    tree.package("nki", "0.6.0")
    code = "import accelplug_neuron; print(accelplug_neuron.accelplug_compiler().cache_key)"
    done = in_new_process(code, tree)
    assert done.stdout == "torch-neuronx 2.13.3.0; neuronx-cc 2.25.1280.0; nki 0.6.0\n", done.stderr
