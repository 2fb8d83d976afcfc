"""The benchmarks' arithmetic and their report: pure functions over the stored runs."""

from __future__ import annotations

import platform
from contextlib import nullcontext
from pathlib import Path

import pytest
from pydantic import ValidationError

from benchmarks import measuring
from benchmarks.machine import cpu_model
from benchmarks.records import Machine, Result, Results, Run, load, store
from benchmarks.report import cell, render
from benchmarks.statistics import Spread, identical, ratios, spread, values
from benchmarks.suite import Metric, Promise, Suite, Workload, in_turn
from benchmarks.suites import SUITES

MACHINE = Machine(cpu="Abacus 9", cores=4, memory_gib=8.0, system="Linux 6.1", load=0.05)
SPEED = Metric("speed", "tokens/s", 1)
SUITE = Suite(
    name="race",
    title="The race",
    about="Two of them run.",
    variants=("tortoise", "hare"),
    metrics=(SPEED,),
    comparisons=(("hare", "tortoise"),),
    prepare=lambda quick: nullcontext(Workload(lambda variant, number: run(variant, number, 1.0), {})),
    promises=(Promise("twice as fast", "speed", "hare", "tortoise", at_least=2.0),),
)


def run(variant: str, number: int, speed: float, outputs: tuple[str, ...] = ()) -> Run:
    return Run(variant=variant, round=number, values={"speed": speed}, outputs=outputs)


def result(*runs: Run) -> Result:
    rounds = len({run.round for run in runs})
    return Result(finished="2026-01-02", rounds=rounds, machine=MACHINE, versions={"torch": "2.13.0"}, runs=runs)


def page(suite: Suite, *runs: Run) -> str:
    return render({suite.name: suite}, Results(suites={suite.name: result(*runs)}))


def test_a_spread_is_the_median_with_the_least_and_the_greatest() -> None:
    assert spread([5.0, 1.0, 2.0]) == Spread(median=2.0, least=1.0, greatest=5.0)


def test_no_values_have_no_spread() -> None:
    with pytest.raises(ValueError, match="no values"):
        spread([])


def test_values_come_in_the_order_of_the_rounds_and_not_of_the_runs() -> None:
    assert values([run("hare", 1, 4.0), run("hare", 0, 3.0)], "hare", "speed") == [3.0, 4.0]


def test_a_ratio_is_formed_within_a_round_so_that_a_slow_minute_cancels_out() -> None:
    quiet = [run("tortoise", 0, 10.0), run("hare", 0, 20.0)]
    busy = [run("hare", 1, 2.0), run("tortoise", 1, 1.0)]
    assert ratios([*quiet, *busy], "hare", "tortoise", "speed") == [2.0, 2.0]


def test_a_ratio_of_unequally_many_runs_is_an_error() -> None:
    with pytest.raises(ValueError, match="shorter"):
        ratios([run("hare", 0, 1.0), run("hare", 1, 1.0), run("tortoise", 0, 1.0)], "hare", "tortoise", "speed")


def test_outputs_are_compared_prompt_by_prompt_with_the_baseline_of_the_same_round() -> None:
    runs = [run("tortoise", 0, 1.0, ("a", "b")), run("hare", 0, 1.0, ("a", "c"))]
    assert identical(runs, "hare", "tortoise") == [1]


def test_the_order_of_the_variants_turns_round_in_every_round() -> None:
    order = [variant for _, variant in in_turn(("a", "b", "c"), 3)]
    assert order == ["a", "b", "c", "c", "b", "a", "a", "b", "c"]


def test_the_report_has_medians_spreads_machine_and_versions() -> None:
    text = page(SUITE, *(run("tortoise", n, 10.0 + n) for n in range(3)), *(run("hare", n, 30.0) for n in range(3)))
    assert "| tortoise | 11.0 (10.0–12.0) |" in text
    assert "Abacus 9, 4 logical cores, 8.0 GiB, Linux 6.1, load average before it 0.05; torch 2.13.0." in text
    assert "3 rounds" in text


@pytest.mark.parametrize(("speed", "verdict"), [(20.0, "kept"), (19.9, "**not kept**")])
def test_a_promise_is_judged_by_the_median_ratio(speed: float, verdict: str) -> None:
    ratio = f"{speed / 10:.3f}"
    expected = f"| twice as fast (hare ÷ tortoise) | ≥ 2.0 | {ratio} ({ratio}–{ratio}) | {verdict} |"
    assert expected in page(SUITE, run("tortoise", 0, 10.0), run("hare", 0, speed))


def test_a_promise_without_a_baseline_is_judged_by_the_value_itself() -> None:
    limit = Promise("slow enough", "speed", "hare", at_most=5.0)
    assert limit.kept(5.0)
    assert not limit.kept(5.1)


@pytest.mark.parametrize(("theirs", "verdict"), [("b", "kept"), ("x", "**not kept**")])
def test_the_same_tokens_are_promised_for_every_prompt_of_every_round(theirs: str, verdict: str) -> None:
    suite = Suite(**{**vars(SUITE), "promises": (), "same_outputs": True})
    runs = [run("tortoise", 0, 1.0, ("a", "b")), run("hare", 0, 1.0, ("a", theirs))]
    same = 2 if theirs == "b" else 1
    expected = f"| the same tokens as tortoise (hare) | all | {same} of 2 prompts in the worst round | {verdict} |"
    assert expected in page(suite, *runs)


def test_a_metric_that_a_variant_lacks_is_a_dash() -> None:
    assert cell([]) == "–"


def test_a_small_ratio_keeps_a_digit() -> None:
    assert cell([0.00042]) == "0.0004 (0.0004–0.0004)"


def test_a_suite_without_a_result_says_how_to_get_one() -> None:
    assert "Not measured yet: `python -m benchmarks race`." in render({"race": SUITE}, Results())


def test_storing_a_suite_leaves_the_other_suites_results(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    store(file, "race", result(run("hare", 0, 1.0)))
    store(file, "walk", result(run("hare", 0, 2.0)))
    store(file, "race", result(run("hare", 0, 3.0)))
    assert {name: suite.runs[0].values["speed"] for name, suite in load(file).suites.items()} == {
        "race": 3.0,
        "walk": 2.0,
    }


def test_a_results_file_of_another_shape_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"suites": {}, "colour": "red"}')
    with pytest.raises(ValidationError, match="colour"):
        load(tmp_path / "results.json")


def test_every_promise_and_comparison_names_variants_of_its_suite() -> None:
    for suite in SUITES.values():
        named = {name for pair in suite.comparisons for name in pair}
        named |= {name for promise in suite.promises for name in (promise.variant, promise.baseline) if name}
        assert named <= {*suite.variants}, suite.name


def test_a_run_is_what_a_program_measured_in_a_process_of_its_own() -> None:
    found = measuring.measured("probe.py", environ={}, timeout=60)
    assert {"import_ms", "probes_ms"} <= measuring.run("hare", 1, found).values.keys()
    with_outputs = measuring.run("hare", 1, {"speed": 2.0, "outputs": ["a"]})
    assert with_outputs == run("hare", 1, 2.0, ("a",))


def test_the_cpu_is_named_as_the_kernel_names_it(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(
        "processor\t: 0\nmodel name\t: Abacus 9\nprocessor\t: 1\nmodel name\t: Abacus 9\n"
    )
    assert cpu_model(tmp_path / "cpuinfo") == "Abacus 9"


def test_a_system_that_names_no_cpu_has_an_architecture(tmp_path: Path) -> None:
    assert cpu_model(tmp_path / "none") == platform.machine()
