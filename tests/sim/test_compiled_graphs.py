"""``torch.compile`` on simulated devices: the backends' own tables and compilers, on stock Inductor for the CPU."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import compiled_case
import device_compiling
import pytest

Cases = Callable[..., "dict[str, Any]"]
Run = Callable[..., "subprocess.CompletedProcess[str]"]
Write = Callable[[str], str]

TRAINING = "a_training_step_changes_the_parameters_as_on_the_cpu"
TABLES = "tables_that_alternate_have_graphs_of_their_own_in_the_caches"


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of torch's caches, of this module's own."""
    return str(tmp_path_factory.mktemp("inductor"))


@pytest.fixture(scope="module")
def cases(library: Path, caches: str) -> Cases:
    """What a process says that runs all cases on a device, or the named ones."""

    def run(device: str, *names: str) -> dict[str, Any]:
        profile = Path(caches) / f"{device}.toml"  # with a second device
        profile.write_text(f'base = "{device}"\ndevices = 2\n')
        done = subprocess.run(
            [sys.executable, device_compiling.__file__, *names],
            env={**os.environ, "ACCELPLUG_SIMULATE": str(profile), "TORCHINDUCTOR_CACHE_DIR": caches},
            capture_output=True,
            text=True,
            timeout=540,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout.splitlines()[-1]))

    return run


@pytest.fixture(scope="module")
def first(cases: Cases) -> Cases:
    """What the first process says on a device, which runs all cases."""
    return functools.cache(lambda device: cases(device))


@pytest.mark.parametrize(
    ("name", "device"), [(name, device) for device in ("neuron", "spyre") for name in compiled_case.cases_of(device)]
)
def test_on_the_device(name: str, device: str, first: Cases) -> None:
    failures = first(device)["failures"]
    assert name not in failures, failures[name]


def test_activation_imports_neither_dynamo_nor_inductor(first: Cases) -> None:
    assert first("neuron")["lazy"]
    assert first("spyre")["lazy"]


@pytest.mark.parametrize("device", ["neuron", "spyre"])
def test_a_second_process_finds_forward_and_backward_in_torchs_caches(first: Cases, cases: Cases, device: str) -> None:
    assert first(device)["caches"]["autograd miss"] > 0
    again = cases(device, TRAINING, TABLES)
    assert again["failures"] == {}
    assert again["caches"] == {"fxgraph hit": 6, "fxgraph miss": 0, "autograd hit": 5, "autograd miss": 0}


OWN_CHIP = """
f = torch.compile(lambda x: x.softmax(-1) + 1, backend="accelplug", dynamic=True)
for size in (3, 4, 5):
    x = torch.randn(size)
    torch.testing.assert_close(f(x.to(f"{D}:1")).cpu(), x.softmax(-1) + 1)
print(f(x.to(f"{D}:1")).device, torch._dynamo.utils.counters["stats"]["unique_graphs"])
"""


def test_a_chip_of_ones_own_compiles_dynamic_shapes(simulated: Run, profile: Write, caches: str) -> None:
    chip = profile('name = "mychip"\ndevices = 2\n')
    assert simulated(chip, OWN_CHIP, TORCHINDUCTOR_CACHE_DIR=caches).stdout == "mychip:1 1\n"


LATE = """
import os
os.environ["ACCELPLUG_SIMULATE"] = "neuron"
import torch._dynamo, torch._functorch.config
torch._dynamo.list_backends()  # Dynamo has looked for backends before the SDK is there
torch._functorch.config.bundled_autograd_cache = True
import accelplug
x = torch.ones(3, device=accelplug.auto().torch_device, requires_grad=True)
accelplug.compile(lambda x: x.exp() * 2)(x).sum().backward()
counters = torch._dynamo.utils.counters["aot_autograd"]
print(counters["autograd_cache_hit"], counters["autograd_cache_miss"], torch.allclose(x.grad, x.exp() * 2))
"""


def test_the_sdks_backend_is_there_for_a_dynamo_that_was_imported_before(
    python: Run, library: Path, caches: str
) -> None:
    """A second process finds all in autograd's cache, also where the user has that hold the code itself."""
    for hits_and_misses in ("0 1", "1 0"):
        done = python(LATE, TORCHINDUCTOR_CACHE_DIR=caches)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{hits_and_misses} True\n"


ON_THE_CPU = """
import os
import torch
if "ACCELPLUG_SIMULATE" in os.environ:
    import accelplug
    accelplug.auto()
y = torch.compile(lambda x: x.median())(torch.tensor([5.0, 1.0, 3.0]))
counters = torch._dynamo.utils.counters
print(y.item())
print(counters["aot_autograd"]["autograd_cache_miss"], counters["inductor"]["fxgraph_cache_miss"])
"""


def test_a_live_device_leaves_graphs_on_the_cpu_and_their_cache_keys_alone(
    python: Run, library: Path, tmp_path: Path
) -> None:
    without = python(ON_THE_CPU, TORCHINDUCTOR_CACHE_DIR=str(tmp_path))
    live = python(ON_THE_CPU, ACCELPLUG_SIMULATE="neuron", TORCHINDUCTOR_CACHE_DIR=str(tmp_path))
    assert (without.returncode, live.returncode) == (0, 0), without.stderr + live.stderr
    assert without.stdout == "3.0\n1 1\n"
    assert live.stdout == "3.0\n0 0\n"
