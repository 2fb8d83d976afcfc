"""A third party's kernels on a simulated device, eagerly and in graphs; and where there is no C++ compiler."""

from __future__ import annotations

from pathlib import Path

import pytest
from processes import Run

from accelplug.sim import build
from accelplug.tables import dispatch

HERE = Path(__file__).parent

ONE_GRAPH = """
import accelplug, torch
a = torch.ones(4, 4, device=str(accelplug.auto()))
f = lambda a: a @ a
print(torch.compile(f, backend="accelplug")(a)[0, 0].item())
"""
WITH_AND_WITHOUT = (
    ONE_GRAPH
    + """
print(f(a)[0, 0].item())
with accelplug.kernels(disable="fast"):
    torch._dynamo.reset()
    print(torch.compile(f, backend="accelplug")(a)[0, 0].item())
torch._dynamo.reset()
print(torch.compile(f, backend="accelplug")(a)[0, 0].item())
"""
)


@pytest.fixture(scope="module", autouse=True)
def libraries() -> None:
    """Built before, so that no test's time limit covers it."""
    build.library()
    dispatch.LIBRARY.path()


def test_eager_calls_autograd_and_graphs(acme: Run) -> None:
    done = acme(str(HERE / "device_kernels.py"))
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_without_a_compiler_kernels_run_in_graphs_only_and_that_is_said_once(acme: Run, tmp_path: Path) -> None:
    """The simulator's library is there, as a wheel may bring it, and the table's can't be built."""
    cache = tmp_path / "cache" / "accelplug" / "sim" / "libraries"
    cache.mkdir(parents=True)
    (cache / build.library().name).symlink_to(build.library())
    done = acme("-c", WITH_AND_WITHOUT, XDG_CACHE_HOME=str(tmp_path / "cache"), CXX="no-such-compiler")
    assert done.stdout.split() == ["8.0", "4.0", "4.0", "8.0"], done.stderr
    assert done.stderr.count("kernels run in compiled graphs only, and not eagerly: the table of kernels is a C++") == 1


def test_the_ledger_says_why_no_kernel_took_a_call_and_which_kernels_ran(acme: Run) -> None:
    calls = """
import accelplug, torch
device = str(accelplug.auto())
whole, odd = torch.ones(4, 4, device=device), torch.ones(3, 3, device=device)
whole @ whole, odd @ odd, odd @ odd
report = accelplug.fallback_report(reset=True)
(row,) = [row for row in report.rows if row.op == "aten::mm"]
print(row.calls, row.reason)
print([(kernel.kernel, kernel.calls) for kernel in report.kernels])
print(accelplug.fallback_report().kernels)
"""
    done = acme("-c", calls)
    row, kernels, after_reset = done.stdout.splitlines()
    assert row == "2 fast/mm: it takes calls where self has a dimension -1 of a multiple of 4 (2 were not)", done.stderr
    assert kernels == "[('fast/mm', 1)]"
    assert after_reset == "()"


def test_the_setting_holds_in_graphs_too(acme: Run) -> None:
    done = acme("-c", WITH_AND_WITHOUT, ACCELPLUG_KERNELS="-fast/mm")
    assert done.stdout.split() == ["4.0"] * 4, done.stderr


def test_graphs_of_other_kernels_are_others_in_the_cache_on_disk(acme: Run) -> None:
    """A second process with the kernels switched off must not get the first one's graph, nor the other way round."""
    for setting, expected in (("", "8.0"), ("off", "4.0"), ("", "8.0")):
        done = acme("-c", ONE_GRAPH, ACCELPLUG_KERNELS=setting)
        assert done.stdout.strip() == expected, done.stderr


EXPLAIN = ("-m", "accelplug", "explain", "--op", "aten::mm")


def test_the_command_explains_without_the_devices_library(acme: Run) -> None:
    done = acme(*EXPLAIN, "--shape", "4x8,8x4", "--device", "acme", ACCELPLUG_SIMULATE="")
    assert "aten::mm(float32[4x8], float32[8x4]) on acme: no kernel" in done.stdout
    assert "unavailable   acme_sdk.kernels is not there" in done.stdout
    assert "then: what the SDK of acme has for it" in done.stdout


def test_the_command_says_what_a_kernel_does_not_take(acme: Run) -> None:
    done = acme(*EXPLAIN, "--shape", "4x8,8x3")
    assert "on acme (simulated): no kernel" in done.stdout
    assert "it takes calls where mat2 has a dimension -1 of a multiple of 4; got shape (8, 3)" in done.stdout
