"""What becomes of a test file that was written for CUDA, as source before and after."""

from __future__ import annotations

import ast

import pytest

from accelplug.errors import BadInputError
from accelplug.testing.retarget import Rules, retarget


def turned(source: str, device: str = "neuron", **rules: object) -> str:
    return ast.unparse(retarget(ast.parse(source), Rules(device, **rules)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torch.zeros(2, device='cuda')", "torch.zeros(2, device='neuron')"),
        ("torch.device('cuda:1')", "torch.device('neuron:1')"),
        ("DEVICES = ['cuda:0', 'cpu']", "DEVICES = ['neuron:0', 'cpu']"),
        ("[f'cuda:{i}' for i in range(torch.cuda.device_count())]",
         "[f'neuron:{i}' for i in range(torch.neuron.device_count())]"),
        ("torch.cuda.synchronize()", "torch.neuron.synchronize()"),
        ("x = torch.ones(2).cuda()", "x = torch.ones(2).to('neuron')"),
        ("x.cuda(non_blocking=True)", "x.to('neuron', non_blocking=True)"),
        ("torch.set_default_device('cuda')", "torch.set_default_device('neuron')"),
        ("@pytest.mark.parametrize('device', ['cuda'])\ndef test(device):\n    pass",
         "@pytest.mark.parametrize('device', ['neuron'])\ndef test(device):\n    pass"),
    ],
)  # fmt: skip
def test_cuda_becomes_the_device(before: str, after: str) -> None:
    assert turned(before) == after


@pytest.mark.parametrize(
    "source",
    [
        "print('run this on cuda')",
        "load('libcuda.so')",
        "current_platform.is_cuda()",
        "x.cuda(3)",
        "f'{name}:cuda'",
        "torch.version.cuda",
    ],
)
def test_what_only_mentions_cuda_stays(source: str) -> None:
    assert turned(source) == source


def test_a_call_of_the_list_is_dropped_and_its_value_is_not() -> None:
    source = "def test():\n    opcheck(op, (x,))\n    kept = opcheck(op, (x,))"
    assert turned(source, drop_calls=frozenset({"opcheck"})) == "def test():\n    pass\n    kept = opcheck(op, (x,))"


def test_a_name_that_may_be_missing_is_none_then() -> None:
    source = "CASES = [torch.ops._C.gelu_fast, torch.ops.aten.add]"
    assert turned(source, optional_names=frozenset({"torch.ops._C"})) == (
        "CASES = [getattr(torch.ops._C, 'gelu_fast', None), torch.ops.aten.add]"
    )


@pytest.mark.parametrize(
    "source",
    ["BACKENDS = ['FLASH']", "BACKENDS: list = []", "from project import BACKENDS", "class BACKENDS:\n    pass"],
)
def test_a_name_gets_the_selections_value_which_is_turned_to_the_device_too(source: str) -> None:
    statement = "BACKENDS = ['CUSTOM', 'cuda']"
    after = turned(f"{source}\nBACKENDS += []", rebound={"BACKENDS": statement}).replace("\n\n", "\n")
    assert after == f"{source}\nBACKENDS = ['CUSTOM', 'neuron']\nBACKENDS += []"


def test_a_name_that_is_gone_from_the_file_is_an_error() -> None:
    with pytest.raises(BadInputError, match="the file has no BACKENDS any more"):
        turned("def test():\n    BACKENDS = 1", rebound={"BACKENDS": "BACKENDS = []"})


def test_lines_keep_their_numbers_so_that_failures_point_into_the_file() -> None:
    tree = retarget(ast.parse("\n\nx = torch.ones(2).cuda()\nopcheck(x)"), Rules("neuron", frozenset({"opcheck"})))
    assert [statement.lineno for statement in tree.body] == [3, 4]
