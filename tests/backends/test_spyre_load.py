"""Loading torch-spyre: once, by whoever comes first, and only where it fits. On a module made up for the test."""

from __future__ import annotations

import pytest
from trees import Tree, in_new_process

REGISTERS = """
import types
CALLS = []
def _autoload():
    CALLS.append("autoload")
    import torch
    torch.utils.rename_privateuse1_backend('spyre')
    torch._register_device_module('spyre', types.ModuleType('torch.spyre'))
"""
LOAD = """
from accelplug_spyre.load import load
load()
import torch, torch_spyre
print(torch.device('spyre:1'), torch_spyre.CALLS)
"""


def sdk(tree: Tree, module: str, requires: str = "") -> Tree:
    tree.package("torch-spyre", "0.4.0", backend="torch_spyre", requires=requires)
    tree.module("torch_spyre", module)
    return tree


@pytest.mark.parametrize("autoload", ["1", "0"])
def test_the_sdk_registers_once_whether_torch_has_loaded_it_or_not(tree: Tree, autoload: str) -> None:
    done = in_new_process(LOAD, sdk(tree, REGISTERS), TORCH_DEVICE_BACKEND_AUTOLOAD=autoload)
    assert done.stdout == "spyre:1 ['autoload']\n", done.stderr


def test_an_sdk_that_registers_nothing_is_an_error(tree: Tree) -> None:
    done = in_new_process(LOAD, sdk(tree, "def _autoload(): pass"))
    assert "there is no torch.spyre" in done.stderr


@pytest.mark.parametrize("requires", ["torch~=2.10.0", "torch~=2.10.0; python_version >= '3.8'"])
def test_an_sdk_that_was_built_for_another_torch_is_refused_before_it_is_imported(tree: Tree, requires: str) -> None:
    ends = "raise SystemExit('undefined symbol')"
    done = in_new_process(LOAD, sdk(tree, ends, requires), TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert "torch-spyre 0.4.0 was built for torch ~=2.10.0, but torch 2." in done.stderr


def test_what_an_extra_needs_does_not_count(tree: Tree) -> None:
    done = in_new_process(LOAD, sdk(tree, REGISTERS, "torch~=2.10.0; extra == 'build'"))
    assert done.stdout.startswith("spyre:1"), done.stderr


TABLE = """
import torch
def softplus(x, beta=1, threshold=20):
    return (x * beta).exp().add(1).log() / beta
spyre_decompositions = {torch.ops.aten.softplus.default: softplus}
spyre_decompositions_to_exclude = [torch.ops.aten.addmm]
"""


def test_the_sdks_own_decompositions_are_in_the_table(tree: Tree) -> None:
    folder = sdk(tree, REGISTERS).site / "torch_spyre" / "_inductor"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "decompositions.py").write_text(TABLE)
    code = (
        "import torch, torch_spyre\n"
        "from accelplug_spyre.decompositions import decompositions\n"
        "aten, found = torch.ops.aten, decompositions()\n"
        "print({aten.softplus.default, aten.gt.Tensor} <= found.add.keys(), {aten.mm, aten.addmm} <= {*found.exclude})"
    )
    done = in_new_process(code, tree, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.stdout == "True True\n", done.stderr
