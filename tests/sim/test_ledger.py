"""The ledger on simulated devices: exact counts, the first call site, budgets, compiled graphs, threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("device_ledger.py")
Found = dict[str, Any]
Cases = Callable[..., Found]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def cases(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Cases:
    """What the named cases of the program find on a device, in a process of their own with caches of this module."""
    caches = str(tmp_path_factory.mktemp("inductor"))

    def run(device: str, *names: str) -> Found:
        done = subprocess.run(
            [sys.executable, str(PROGRAM), *names],
            env={**os.environ, "ACCELPLUG_SIMULATE": device, "TORCHINDUCTOR_CACHE_DIR": caches},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout.splitlines()[-1]))

    return run


@pytest.fixture(scope="module")
def found(cases: Cases) -> Found:
    """What the eager cases find on the simulated Spyre."""
    return cases("spyre", "c14_eager", "scopes", "backward", "models", "scraped")


@pytest.fixture(scope="module")
def compiled(cases: Cases) -> tuple[Found, Found]:
    """What the compiled case finds in a process that compiles, and in one that has the graph from torch's cache."""
    return cases("spyre", "c14_compiled")["c14_compiled"], cases("spyre", "c14_compiled")["c14_compiled"]


def place(comment: str, remark: str = "") -> str:
    """Where the line of the program is that ends in ``comment``."""
    lines = PROGRAM.read_text().splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if line.endswith(f"# {comment}")]
    return f"{PROGRAM}:{number}{remark}"


def test_factories_that_fall_back_1000_times_are_counted_exactly_with_bytes_time_and_first_call_site(
    found: Found,
) -> None:
    # fill_ serves full (4 x 4 floats), itself (4 x 4), and the scalar of a slice that is assigned to
    assert found["c14_eager"]["rows"] == {
        "aten::fill_.Scalar 0": [3000, 1000 * (64 + 64 + 4), True, place("full")],
        "aten::arange.start_out 0": [1000, 1000 * 16 * 8, True, place("positions")],
    }


def test_a_slice_is_a_view_and_no_op_and_what_is_copied_through_it_is_a_copy_within(found: Found) -> None:
    assert found["c14_eager"]["within"] == 2 * 1000


def test_the_warning_comes_once_with_the_call_site_and_then_at_10_100_and_1000(found: Found) -> None:
    said = [line for line in found["c14_eager"]["said"] if "fill_" in line]
    assert said == [
        f"aten::fill_.Scalar falls back from spyre to the CPU, first at {place('full')}: no kernel on the device",
        "aten::fill_.Scalar has fallen back from spyre to the CPU 10 times",
        "aten::fill_.Scalar has fallen back from spyre to the CPU 100 times",
        "aten::fill_.Scalar has fallen back from spyre to the CPU 1,000 times",
    ]


def test_a_budget_of_zero_fails_at_the_first_and_says_what_where_and_what_to_do(found: Found) -> None:
    kind, message = found["c14_eager"]["zero"]
    assert kind == "FallbackRefusedError"
    for part in (
        "spyre:0 (simulated): budget calls=0 allows 0 calls to fall back",
        "aten::fill_.Scalar is call 1",
        f"at {place('full')}",
        "accelplug.fallback(…)",
    ):
        assert part in message


def test_a_compiled_graph_counts_its_ops_at_each_run_also_when_it_comes_from_the_cache(
    compiled: tuple[Found, Found],
) -> None:
    first, second = compiled
    assert (
        first["rows"]
        == second["rows"]
        == {
            # the graph after decomposition: arange is iota, and filling a slice is full and slice_scatter
            "aten::full 0 compiled": [2000, 1000 * (64 + 32), False, place("full in a graph")],
            "prims::iota 0 compiled": [1000, 1000 * 16 * 8, False, place("positions in a graph")],
            "aten::slice_scatter 0 compiled": [1000, 1000 * (64 + 32 + 64), False, place("slice in a graph")],
            "aten::cumsum 0 compiled": [1000, 1000 * 2 * 16 * 8, False, place("cumsum in a graph")],
        }
    )
    assert first["share"] == pytest.approx(2 / 7)  # the two additions are native
    assert second["caches"] == {"autograd_cache_hit": 1}


def test_a_budget_holds_inside_of_compiled_graphs(compiled: tuple[Found, Found]) -> None:
    kind, message = compiled[0]["few"]
    assert kind == "FallbackRefusedError"
    assert "budget prims::iota:calls=2 allows 2 calls" in message
    assert f"prims::iota is call 3, at {place('positions in a graph')}" in message


def test_the_innermost_policy_holds_and_ends_with_its_block(found: Found) -> None:
    scopes = found["scopes"]
    assert scopes["forbidden"][1].startswith("spyre:0 (simulated): policy 'error' forbids aten::fill_.Scalar")
    assert scopes["outside"] == []


def test_what_is_native_and_what_copies_or_views_is_never_refused(found: Found) -> None:
    assert found["scopes"]["native"] == found["scopes"]["copies"] == []


def test_budgets_outside_go_on_besides_the_ones_inside(found: Found) -> None:
    assert found["scopes"]["inner"] == [False, True]
    assert found["scopes"]["outer"] == [False, False, False, True]  # the two inside count, of 5


def test_a_budget_of_bytes_fails_with_the_call_that_exceeds_it(found: Found) -> None:
    fits, exceeds = found["scopes"]["bytes"]
    assert fits == []
    assert "budget bytes=32 allows 32 bytes to fall back to the CPU, and with aten::cumsum it is 64" in exceeds[1]


def test_a_reset_begins_anew(found: Found) -> None:
    assert found["scopes"]["after reset"] == []
    assert found["scopes"]["budgets"] == []


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("misspelt", "policy 'eror' is unknown; did you mean 'error'?"),
        ("no such op", "there is no operator 'aten::cumsun'; did you mean 'aten::cumsum'?"),
    ],
)
def test_what_is_misspelt_is_said_with_the_nearest(found: Found, case: str, said: str) -> None:
    kind, message = found["scopes"][case]
    assert kind == "BadInputError"
    assert said in message


def test_in_backward_the_site_is_the_code_that_waits_for_it_and_a_refusal_comes_out_there(found: Found) -> None:
    assert found["backward"]["rows"]["aten::flip 0"] == [2, 64, False, place("backward", " (in backward)")]
    kind, message = found["backward"]["refused"]
    assert kind == "FallbackRefusedError"
    assert "policy 'error' forbids" in message
    assert found["backward"]["again"] == []


def test_a_fused_attention_is_one_op_and_an_lstm_the_ops_it_is_made_of(found: Found) -> None:
    ops = found["models"]["ops"]
    assert [op for op in ops if "scaled_dot_product" in op] == ["aten::_scaled_dot_product_flash_attention_for_cpu"]
    assert {"aten::sigmoid_backward", "aten::tanh_backward"} <= {*ops}
    assert 0.5 < found["models"]["share"] < 1


def test_prometheus_reads_the_counts_when_it_scrapes(found: Found) -> None:
    lines = found["scraped"]["text"].splitlines()
    assert 'accelplug_fallback_calls_total{device="spyre:0",op="aten::cumsum"} 2.0' in lines
    assert 'accelplug_fallback_bytes_total{device="spyre:0",op="aten::cumsum"} 64.0' in lines
    assert 'accelplug_native_calls_total{device="spyre:0"} 1.0' in lines


def test_eight_threads_on_four_devices_share_one_budget_exactly(cases: Cases) -> None:
    both = cases("neuron", "threads", "models")
    assert both["threads"] == {"allowed": 1001, "refused": 8 * 300 - 1001, "counted": 1001, "devices": 4}
    assert both["models"]["ops"] == []  # its profile runs all of aten but random numbers and linear algebra
    assert both["models"]["share"] == 1


SETTINGS = """
x = torch.zeros(4).to(D)
x.cumsum(0), x.cumsum(0)
try:
    x.fill_(1)
except accelplug.FallbackRefusedError as error:
    print(error)
"""


def test_policy_budgets_time_and_a_report_at_exit_come_from_the_settings(simulated: Run, tmp_path: Path) -> None:
    from accelplug import FallbackReport

    done = simulated(
        "spyre",
        SETTINGS,
        ACCELPLUG_FALLBACK="warn",
        ACCELPLUG_FALLBACK_BUDGET="calls=100,aten::fill_*:calls=0",
        ACCELPLUG_FALLBACK_TIME="on",
        ACCELPLUG_REPORT="run-{pid}.json",
    )

    assert "budget aten::fill_*:calls=0 allows 0 calls" in done.stdout
    assert "aten::cumsum falls back from spyre to the CPU, first at <string>:6" in done.stderr
    (written,) = tmp_path.glob("run-*.json")
    report = FallbackReport.load(written)
    assert written.name == f"run-{report.process}.json"
    assert (report.policy, report.budgets) == ("warn", ("calls=100", "aten::fill_*:calls=0"))
    (row,) = report.rows
    assert (row.op, row.calls, row.bytes, row.site) == ("aten::cumsum", 2, 64, "<string>:6")
    assert row.nanoseconds


def test_a_report_that_could_not_be_written_is_an_error_before_the_work_and_not_after(simulated: Run) -> None:
    done = simulated("spyre", "", ok=False, ACCELPLUG_REPORT="nowhere/run.json")
    assert "BadInputError: the report can't be written to" in done.stderr
    assert "make it first" in done.stderr
