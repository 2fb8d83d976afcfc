"""The simulated SDK's own compiler, and shapes that aren't fixed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
# Of a chip with no backend: nothing but the profile says what its compiler takes.
CODE = """
f = torch.compile(lambda x: x * 2, backend="accelplug", dynamic=True)
try:
    print(f(torch.ones(3, 4, device=D)).sum().item())
except Exception as error:
    print(error)
g = torch.compile(lambda x: x * 2, backend="accelplug", dynamic=False)
print(g(torch.ones(3, 4, device=D)).sum().item())
"""


def test_a_compiler_of_static_shapes_refuses_symbolic_ones_by_itself(
    simulated: Run, profile: Callable[[str], str]
) -> None:
    out = simulated(profile('name = "mychip"\nstatic_shapes = true\n'), CODE).stdout
    assert "the compiler of mychip (simulated) takes static shapes only, and input" in out
    assert out.splitlines()[-1] == "24.0"


def test_without_the_key_it_takes_them(simulated: Run, profile: Callable[[str], str]) -> None:
    assert simulated(profile('name = "mychip"\n'), CODE).stdout == "24.0\n24.0\n"


@pytest.mark.parametrize("device", ["neuron", "spyre"])
def test_both_vendors_compilers_take_static_shapes_only(device: str) -> None:
    from accelplug.sim.profile import find

    assert find(device).static_shapes
