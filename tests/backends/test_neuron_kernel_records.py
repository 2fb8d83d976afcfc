"""The records of Neuron's kernels: levels, order, what they refuse, and what is said where the SDK is missing."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import accelplug_neuron
import nki_interpreter
import pytest
import torch
from accelplug_neuron.kernels import kernels, rms_norm
from processes import Run

from accelplug.specs import Kernel, Level, RanOn

OPERATORS = {
    "accelplug::rms_norm": [Level.isa, Level.tile, Level.compiler],
    "accelplug::silu_and_mul": [Level.isa, Level.tile],
    "accelplug::rotary_embedding": [Level.tile],
    "aten::_softmax": [Level.tile],
    "aten::mm": [Level.isa, Level.tile, Level.compiler],
}
NKI = [kernel for kernel in kernels() if kernel.provider == "nki"]


def of(op: str) -> list[Kernel]:
    found = [kernel for kernel in kernels() if kernel.op == op]
    return sorted(found, key=lambda kernel: -kernel.priority)


@pytest.mark.parametrize("op", OPERATORS)
def test_more_control_is_tried_first(op: str) -> None:
    assert [kernel.level for kernel in of(op)] == OPERATORS[op]


def test_no_nki_kernel_claims_to_have_run_on_a_device() -> None:
    assert {kernel.ran_on for kernel in NKI} == {RanOn.nothing}


def test_the_levels_of_an_operator_have_one_reference() -> None:
    for op in OPERATORS:
        assert len({kernel.reference for kernel in of(op)}) == 1


def test_a_product_at_the_compilers_level_is_not_the_operator_it_stands_for() -> None:
    a, b = torch.randn(128, 256), torch.randn(256, 128)
    with torch.profiler.profile() as profile:
        got = of("aten::mm")[-1].load()(a, b)
    torch.testing.assert_close(got, a @ b)
    assert "aten::mm" not in {event.key for event in profile.key_averages()}


def test_rms_norm_at_the_compilers_level_is_pytorchs() -> None:
    x, weight = torch.randn(3, 5, 64), torch.randn(64)
    got = of("accelplug::rms_norm")[-1].load()(x, weight, 1e-6)
    torch.testing.assert_close(got, torch.nn.functional.rms_norm(x, (64,), weight, 1e-6))


def test_the_reference_of_softmax_is_pytorchs() -> None:
    x = torch.randn(2, 3, 4)
    (kernel,) = of("aten::_softmax")
    torch.testing.assert_close(kernel.reference(x, -1, False), torch.ops.aten._softmax(x, -1, False))


def test_angles_that_would_be_broadcast_are_refused_with_their_shape() -> None:
    (kernel,) = of("accelplug::rotary_embedding")
    assert kernel.refuses is not None
    x = torch.randn(4, 2, 8)
    assert kernel.refuses(x, torch.randn(4, 4), torch.randn(4, 4)) is None
    assert kernel.refuses(x, torch.randn(1, 4), torch.randn(4, 4)) == "cos has shape (1, 4), not (4, 4)"


def test_rules_speak_of_dimensions_that_their_tensors_have() -> None:
    """With ranks left open, a rule may only name the last dimension, which every tensor of one or more has."""
    for kernel in kernels():
        for rule in kernel.accepts.values():
            named = {*rule.multiples, *rule.at_least, *rule.at_most}
            smallest = min(rule.ranks, default=2 if kernel.op == "aten::mm" else 1)
            assert all(-smallest <= dim < smallest for dim in named), kernel


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        (None, "nki is not installed"),
        ("0.0.1", "PyPI's placeholder"),
        ("0.5.0", "nki 0.5.0 is too old for these kernels: they need 0.6"),
        ("unknown", "nki unknown is too old"),
    ],
)
def test_an_nki_that_cannot_serve_leaves_the_kernels_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, version: str | None, problem: str
) -> None:
    installed(monkeypatch, version)
    for kernel in NKI:
        with pytest.raises(ImportError, match=problem):
            kernel.load()


def installed(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    def answer(name: str) -> str:
        assert name == "nki"
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(metadata, "version", answer)


@pytest.fixture
def sdk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The parts of the SDK that `load` calls, as documented, on the interpreter: no compiler and no device."""
    installed(monkeypatch, "0.6.0")

    class Launcher:
        def __init__(self, body: Any) -> None:
            self.body = body

        def __getitem__(self, cores: int) -> Any:
            return lambda *arguments: nki_interpreter.run(self.body, *arguments, cores=cores)

    torch_neuronx = types.ModuleType("torch_neuronx")
    torch_neuronx.wrap_nki = Launcher  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch_neuronx", torch_neuronx)
    with nki_interpreter.importable():
        sys.modules["nki"].jit = lambda body: body  # type: ignore[attr-defined]
        yield


@pytest.mark.parametrize("kernel", NKI, ids=str)
@pytest.mark.parametrize("lnc", [None, "1"])
@pytest.mark.usefixtures("sdk")
def test_what_load_returns_takes_the_operators_arguments(
    monkeypatch: pytest.MonkeyPatch, kernel: Kernel, lnc: str | None
) -> None:
    if lnc is None:
        monkeypatch.delenv("NEURON_LOGICAL_NC_CONFIG", raising=False)
    else:
        monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", lnc)
    x = torch.randn(2, 3, 4, 64)
    arguments: tuple[Any, ...] = {
        "accelplug::rms_norm": (x, torch.randn(64), 1e-6),
        "accelplug::silu_and_mul": (x,),
        "accelplug::rotary_embedding": (x, torch.randn(2, 3, 32), torch.randn(2, 3, 32)),
        "aten::_softmax": (x, -1, False),
        "aten::mm": (torch.randn(128, 128), torch.randn(128, 256)),
    }[kernel.op]
    got, expected = kernel.load()(*arguments), kernel.reference(*arguments)
    absolute, relative = kernel.tolerance["float32"]
    torch.testing.assert_close(got, expected, atol=absolute, rtol=relative)


@pytest.mark.usefixtures("sdk")
def test_an_empty_tensor_is_left_to_the_next_kernel() -> None:
    call = rms_norm.KERNELS[0].load()
    with pytest.raises(NotImplementedError, match=r"shape \(0, 64\) has no elements"):
        call(torch.empty(0, 64), torch.ones(64), 1e-6)


def test_the_records_are_made_without_the_sdk(python: Run) -> None:
    code = (
        "import sys; sys.modules.update(nki=None, torch_neuronx=None); import accelplug_neuron; "
        "print(len(accelplug_neuron.accelplug_kernels()))"
    )
    done = python(code)
    assert done.stdout == f"{len(kernels())}\n", done.stderr


def test_the_documentation_shows_the_code_as_it_is() -> None:
    root = Path(accelplug_neuron.__file__).parents[3]
    sources = [path.read_text() for path in Path(accelplug_neuron.__file__).parent.rglob("*.py")]
    shown = re.findall(r"```python\n(.*?)```", (root / "docs/neuron.md").read_text(), re.DOTALL)
    assert len(shown) == 3
    assert all(any(code in source for source in sources) for code in shown)
