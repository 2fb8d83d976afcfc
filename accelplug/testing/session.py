"""The tests' own process: the device, the imports, which tests run, what came of each."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import accelplug
from accelplug.testing import page
from accelplug.testing.importing import RetargetingFinder
from accelplug.testing.records import Ended, UpstreamReport, UpstreamTest
from accelplug.testing.retarget import Rules
from accelplug.testing.selection import Excepted, Selection, read
from accelplug.testing.summary import lines
from accelplug.testing.tolerances import Tolerances
from accelplug.testing.upstream import Target, Upstream, find

OTHER = "other"
LONGEST_REASON = 200
NARROWING = ("keyword", "markexpr", "maxfail", "deselect", "ignore", "ignore_glob")  # pytest's names of its options
ENDED_BY_ITSELF = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)  # and not at a Ctrl-C or an error of pytest's


class UpstreamSession:
    """A pytest plugin for one run."""

    def __init__(self, upstream: Upstream, selection: Selection, target: Target) -> None:
        self._upstream = upstream
        self._selection = selection
        self._target = target
        self._tolerances = Tolerances()
        self._ended: dict[str, UpstreamTest] = {}
        self._matched: set[str] = set()
        self._unfreeze = gc.unfreeze

    @classmethod
    def start(cls, project: str, root: Path, groups: list[str]) -> UpstreamSession:
        """Makes the device live and turns imports from ``root`` to it."""
        upstream = find(project)
        selection = read(upstream.selection).only(groups)
        session = cls(upstream, selection, upstream.prepare())
        RetargetingFinder(root, session._rules).install()
        session._tolerances.install()
        # Tests that fork would wait for ever: OpenMP's threads, which operators of this process have started, aren't
        # there in the child. With one thread it asks for none.
        os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))
        return session

    def _rules(self, file: str) -> Rules:
        return Rules(
            device=self._target.device,
            drop_calls=frozenset(entry.call for entry in self._selection.drop_calls),
            optional_names=frozenset(entry.of for entry in self._selection.optional_names),
            rebound={entry.name: entry.statement for entry in self._selection.rebound if entry.file == file},
        )

    # Which tests run

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept, dropped = [], []
        for item in items:
            group = self._selection.group_of(item.nodeid)
            if group is not None and (why := self._why(group.leave_out, item.nodeid)):
                self._end(item.nodeid, Ended.left_out, why)
                dropped.append(item)
                continue
            if group is not None and (why := self._why(group.xfail, item.nodeid)):
                item.add_marker(pytest.mark.xfail(reason=why, strict=True))
            kept.append(item)
        items[:] = kept
        config.hook.pytest_deselected(items=dropped)

    def pytest_collection_finish(self) -> None:
        """Projects collect garbage after each test, which takes longer than most tests: all that was imported is looked
        at. None of that is garbage, so it stays frozen; vLLM's own clean-up would unfreeze it."""
        gc.collect()
        gc.freeze()
        self._unfreeze, gc.unfreeze = gc.unfreeze, lambda: None

    def pytest_unconfigure(self) -> None:
        """Libraries say what was still there at the end of the process, as if it were lost."""
        self._unfreeze()

    def _why(self, entries: tuple[Excepted, ...], test: str) -> str:
        for entry in entries:
            if pattern := entry.pattern_for(test, self._target.device):
                self._matched.add(pattern)
                return entry.why
        return ""

    @pytest.fixture(autouse=True)
    def _as_it_was(self) -> Iterator[None]:
        """Many tests set these and leave them set; the next file's tests then fail for it."""
        yield
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)

    # What came of them

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._end(report.nodeid, Ended.error, _said(report))
        elif report.skipped:
            self._end(report.nodeid, Ended.skipped, _said(report))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._tolerances.needed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        expected = getattr(report, "wasxfail", None)
        if expected is not None:
            self._end(report.nodeid, Ended.xfailed, expected, report.duration)
        elif report.skipped:
            self._end(report.nodeid, Ended.skipped, _said(report), report.duration)
        elif report.failed:
            ended = Ended.failed if report.when == "call" else Ended.error
            self._end(report.nodeid, ended, _said(report), report.duration)
        elif report.when == "call":
            ended = Ended.relaxed if self._tolerances.needed else Ended.passed
            self._end(report.nodeid, ended, "", report.duration)

    def _end(self, test: str, ended: Ended, why: str, seconds: float = 0.0) -> None:
        group = self._selection.group_of(test)
        self._ended[test] = UpstreamTest(
            name=test, group=group.name if group else OTHER, ended=ended, why=why, seconds=round(seconds, 3)
        )

    def pytest_report_header(self) -> list[str]:
        """Above the progress, where that isn't switched off with -q."""
        report = self._report(everything=False)
        written_for = self._selection.written_for
        other = f"; the list of tests was written for {written_for}" if written_for != report.version else ""
        return [f"accelplug: tests of {report.where}{other}", f"groups: {', '.join(report.groups)}"]

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
    ) -> None:
        everything = self._runs_everything(config) and exitstatus in ENDED_BY_ITSELF
        report = self._report(everything)
        whole = everything and not config.getoption("accelplug_upstream_select")
        terminalreporter.section(report.where)
        for line in lines(report, every_test=config.get_verbosity() > 0):
            terminalreporter.write_line(line)
        if file := config.getoption("accelplug_upstream_json"):
            Path(file).write_text(report.model_dump_json(indent=1) + "\n", encoding="utf-8")
        if file := config.getoption("accelplug_upstream_page"):
            if whole:
                page.write(Path(file), report, self._upstream)
            terminalreporter.write_line(f"{file}: {'written' if whole else 'left as it was, as not all tests ran'}")

    def _runs_everything(self, config: pytest.Config) -> bool:
        """Whether an entry of the selection that matched nothing is out of date, or its test was not asked for."""
        paths = [path for group in self._selection.groups for path in group.paths]
        return [*config.known_args_namespace.file_or_dir] == paths and not any(map(config.getoption, NARROWING))

    def _report(self, everything: bool) -> UpstreamReport:
        groups = {group.name: group.why for group in self._selection.groups}
        if any(test.group == OTHER for test in self._ended.values()):
            groups[OTHER] = "asked for, and not in the selection"
        return UpstreamReport(
            title=self._upstream.title,
            version=self._upstream.version,
            written_for=self._selection.written_for,
            device=self._target.device,
            simulated=self._target.simulated,
            torch=torch.__version__,
            accelplug=accelplug.__version__,
            groups=groups,
            tests=tuple(self._ended.values()),
            left_out=self._selection.left_out,
            out_of_date=tuple(self._unmatched()) if everything else (),
        )

    def _unmatched(self) -> Iterator[str]:
        for group in self._selection.groups:
            for entry in (*group.leave_out, *group.xfail):
                if not entry.devices or self._target.device in entry.devices:
                    yield from (pattern for pattern in entry.tests if pattern not in self._matched)


def _said(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why it failed or was skipped, in a line that is the same on every machine."""
    representation: Any = report.longrepr
    if isinstance(representation, tuple):  # of what was skipped: file, line, reason
        said = representation[2].removeprefix("Skipped: ")
    elif crash := getattr(representation, "reprcrash", None):
        said = crash.message
    else:
        said = _last_error(str(representation))
    line = next(iter(said.strip().splitlines()), "")
    line = re.sub(r"0x[0-9a-f]{4,}", "0x…", re.sub(r"(/[\w.+-]+){3,}", "…", line))
    return line if len(line) <= LONGEST_REASON else line[:LONGEST_REASON] + "…"


def _last_error(text: str) -> str:
    """The line of a traceback that says what was raised; pytest marks it with an E."""
    errors = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    return errors[-1] if errors else text
