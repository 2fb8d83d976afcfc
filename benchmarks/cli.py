"""The command line of `python -m benchmarks`."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import machine, process, records, report
from benchmarks.records import Result, Results, Run
from benchmarks.suite import BenchmarkError, Suite, in_turn
from benchmarks.suites import SUITES
from tools.installing import InstallError

console = Console()
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    suites: Annotated[list[str] | None, typer.Argument(help=f"Which: {', '.join(SUITES)}. Default: all.")] = None,
    pairs: Annotated[int, typer.Option(min=1, help="Rounds; each has every variant once.")] = 5,
    missing: Annotated[bool, typer.Option("--missing", help="Only suites that have no stored result.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Less work; prints the report, stores nothing.")] = False,
    render: Annotated[bool, typer.Option("--render", help="Measure nothing; write RESULTS.md anew.")] = False,
    output: Annotated[
        Path, typer.Option(show_default="benchmarks", help="The folder of results.json and RESULTS.md.")
    ] = Path(__file__).parent,
) -> None:
    """Measure vLLM in tree against vLLM through accelplug, and what choosing a device costs.

    Each suite's result replaces its last one as soon as the suite is done; the other suites' results stay. All suites
    take most of an hour on two cores. Leave the machine alone meanwhile.

    Examples:

        python -m benchmarks

        python -m benchmarks offline http --pairs 7

        python -m benchmarks --missing

        python -m benchmarks selection --quick --pairs 1
    """
    chosen = [_suite(name) for name in suites or SUITES]
    store = output / "results.json"
    if render:
        chosen = []
    elif missing:
        chosen = [suite for suite in chosen if suite.name not in records.load(store).suites]
    process.clean_environment()
    failed = []
    for suite in chosen:
        try:
            result = measure(suite, pairs, quick)
        except (BenchmarkError, InstallError) as error:
            console.print(f"{suite.name} failed: {error}", style="red", markup=False, highlight=False)
            failed.append(suite.name)
            continue
        if quick:
            console.print(Markdown(report.render({suite.name: suite}, Results(suites={suite.name: result}))))
        else:
            _write(output, records.store(store, suite.name, result))
    if render:
        _write(output, records.load(store))
    if failed:
        console.print(f"failed: {', '.join(failed)}; run them again with `python -m benchmarks {' '.join(failed)}`")
        raise typer.Exit(1)


def measure(suite: Suite, rounds: int, quick: bool) -> Result:
    """Runs a suite, with progress shown. Raises BenchmarkError and InstallError."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    runs: list[Run] = []
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(f"{suite.name}: getting ready", total=rounds * len(suite.variants))
        with suite.prepare(quick) as workload:
            where = machine.machine()
            for number, variant in in_turn(suite.variants, rounds):
                progress.update(task, description=f"{suite.name}: {variant}")
                run = workload.measure(variant, number)
                runs.append(run)
                progress.console.print(_said(run), highlight=False)
                progress.advance(task)
    finished = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    return Result(finished=finished, rounds=rounds, machine=where, versions=workload.versions, runs=tuple(runs))


def _said(run: Run) -> str:
    numbers = ", ".join(f"{name} {value:.4g}" for name, value in run.values.items())
    return f"  round {run.round + 1}  {run.variant}: {numbers}"


def _write(folder: Path, results: Results) -> None:
    (folder / "RESULTS.md").write_text(report.render(SUITES, results))
    console.print(f"wrote {folder / 'RESULTS.md'}", highlight=False)


def _suite(name: str) -> Suite:
    if name not in SUITES:
        raise typer.BadParameter(f"no suite {name!r}; there are: {', '.join(SUITES)}")
    return SUITES[name]
