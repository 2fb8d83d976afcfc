"""``pytest --accelplug-upstream acme``: a small project's tests, written for CUDA, run on another device (the CPU)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from processes import PATIENCE, environment

from accelplug.testing import Target, Upstream
from accelplug.testing.page import with_section
from accelplug.testing.records import UpstreamReport
from accelplug.testing.summary import lines

PROJECT = """
from pathlib import Path
from accelplug.testing import Target, Upstream

def upstream():
    here = Path(__file__).parent
    return Upstream(
        title="Acme",
        version="1.0",
        selection=here / "selection.yaml",
        fetch=lambda: here / "tree",
        environment=lambda: {"ACME": "offline"},
        prepare=lambda: Target(device="cpu", simulated=True),
        introduction="Run them with `make acme`.",
        rules="A second machine is a process.",
    )
"""
SELECTION = """
written_for: "1.0"
groups:
  - name: devices
    why: tensors go where they should
    paths: [tests/test_devices.py, tests/test_broken.py]
    leave_out:
      - {tests: ["*::test_hangs"], why: waits for a second machine}
    xfail:
      - {tests: ["*::test_known[*"], why: there is no such kernel}
      - {tests: ["*::test_repaired"], why: fails no more}
      - {tests: ["*::test_long_gone"], why: was removed}
drop_calls:
  - {call: opcheck, why: checks CUDA's registrations}
optional_names:
  - {of: torch.ops.acme, why: CUDA's kernels}
rebound:
  - {file: tests/test_devices.py, name: KERNELS, statement: "KERNELS = [None]", why: the others are CUDA's}
left_out:
  - {paths: [tests/test_rdma.py], why: needs a network card}
"""
TESTS = """
import os
import pytest
import torch
from tests.helper import DEVICE

DEVICES = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
KERNELS = [torch.ops.acme.fast]
LISTED = [torch.ops.acme.missing]

@pytest.mark.parametrize("device", DEVICES)
def test_turned(device):
    assert torch.ones(1).cuda().device.type == torch.ones(1, device=device).device.type == DEVICE
    assert os.environ["ACME"] == "offline"

@pytest.mark.parametrize("kernel", KERNELS)
def test_constant(kernel):
    assert kernel is None and LISTED == [None]
    opcheck(kernel)

def test_rounding():
    torch.testing.assert_close(torch.tensor(1.0), torch.tensor(1.0 + 3e-7), rtol=0, atol=0)

def test_default_device_is_set():
    torch.set_default_device("meta")

def test_default_device_is_reset():
    assert torch.ones(1).device.type == "cpu"

def test_wrong():
    assert torch.ones(1).sum().item() == 2

@pytest.mark.parametrize("n", [1, 2])
def test_known(n):
    raise NotImplementedError

def test_repaired():
    pass

def test_skips():
    pytest.skip("needs two GPUs")

def test_hangs():
    raise AssertionError("was run")
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, installed: its folder is to be on the path."""
    folder = tmp_path_factory.mktemp("acme")
    tests = folder / "tree" / "tests"
    tests.mkdir(parents=True)
    (folder / "acme_upstream.py").write_text(PROJECT)
    (folder / "selection.yaml").write_text(SELECTION)
    (tests / "__init__.py").write_text("")
    (tests / "helper.py").write_text('DEVICE = "cuda"\n')
    (tests / "test_devices.py").write_text(TESTS)
    (tests / "test_broken.py").write_text("import no_such_module_of_acme\n")
    info = folder / "acme_upstream-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-upstream\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[accelplug.upstream_tests]\nacme = acme_upstream:upstream\n")
    return folder


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--accelplug-upstream", *arguments],
        cwd=project,
        env=environment(PYTHONPATH=str(project), COLUMNS="200"),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.fixture(scope="module")
def ran(project: Path) -> tuple[subprocess.CompletedProcess[str], UpstreamReport]:
    done = run(project, "acme", "--accelplug-upstream-json", "report.json", "--accelplug-upstream-page", "page.md")
    return done, UpstreamReport.model_validate_json((project / "report.json").read_text())


def test_every_test_ends_in_one_of_the_ways_with_its_reason(
    ran: tuple[subprocess.CompletedProcess[str], UpstreamReport],
) -> None:
    ended = {test.name.partition("::")[2] or test.name: (str(test.ended), test.why) for test in ran[1].tests}
    assert ended == {
        "test_turned[cpu:0]": ("passed", ""),
        "test_constant[None]": ("passed", ""),
        "test_rounding": ("relaxed", ""),
        "test_default_device_is_set": ("passed", ""),
        "test_default_device_is_reset": ("passed", ""),
        "test_wrong": ("failed", "assert 1.0 == 2"),
        "test_known[1]": ("xfailed", "there is no such kernel"),
        "test_known[2]": ("xfailed", "there is no such kernel"),
        "test_repaired": ("failed", "[XPASS(strict)] fails no more"),
        "test_skips": ("skipped", "needs two GPUs"),
        "test_hangs": ("left_out", "waits for a second machine"),
        "tests/test_broken.py": ("error", "ModuleNotFoundError: No module named 'no_such_module_of_acme'"),
    }


def test_the_run_fails_as_one_of_its_tests_did_and_says_all_of_it(
    ran: tuple[subprocess.CompletedProcess[str], UpstreamReport],
) -> None:
    done, _ = ran
    assert done.returncode != 0
    assert "accelplug: tests of Acme 1.0 on cpu (simulated)\ngroups: devices\n" in done.stdout
    assert "Failed, as known:\n     2  there is no such kernel\n" in done.stdout
    assert (
        "Failed:\n     1  [XPASS(strict)] fails no more\n        tests/test_devices.py::test_repaired\n" in done.stdout
    )
    assert "Files not run: needs a network card: tests/test_rdma.py" in done.stdout
    assert "Out of date: the selection names *::test_long_gone" in done.stdout
    assert (
        "group      passed   relaxed   xfailed   skipped  left out    failed     error\n"
        "devices         4         1         2         1         1         2         1\n\n"
        "Acme 1.0 on cpu (simulated): 5 passed (1 of them relaxed), 2 xfailed, 1 skipped, 1 left out, 2 failed, 1 error"
    ) in done.stdout


def test_where_every_test_is_asked_for_each_reason_has_its_tests(
    ran: tuple[subprocess.CompletedProcess[str], UpstreamReport],
) -> None:
    said = [*lines(ran[1], every_test=True)]
    assert said[said.index("     2  there is no such kernel") + 1] == "        tests/test_devices.py::test_known (2)"


def test_the_projects_files_are_as_they_were(
    project: Path, ran: tuple[subprocess.CompletedProcess[str], UpstreamReport]
) -> None:
    tests = project / "tree" / "tests"
    assert (tests / "test_devices.py").read_text() == TESTS
    assert sorted(file.name for file in tests.iterdir() if file.is_dir()) == []


def test_the_page_has_a_row_for_each_group_and_every_reason(
    project: Path, ran: tuple[subprocess.CompletedProcess[str], UpstreamReport]
) -> None:
    page = (project / "page.md").read_text()
    assert "page.md: written" in ran[0].stdout
    assert "| devices | tensors go where they should | 4 | 1 | 2 | 1 | 1 | 2 | 1 |" in page
    assert "* needs two GPUs:\n    * `tests/test_devices.py::test_skips`" in page
    assert "this says nothing about hardware" in page
    words = " ".join(page.partition("## cpu")[0].split())
    assert words.startswith("# Acme's own tests on accelplug's devices Run them with `make acme`. Test files aren't")
    assert "counts as *relaxed*. A second machine is a process. A test that is known to fail" in words


def test_a_run_replaces_its_devices_section_of_the_page_and_keeps_the_others(
    project: Path, ran: tuple[subprocess.CompletedProcess[str], UpstreamReport]
) -> None:
    first, nothing_ran = ran[1], ran[1].model_copy(update={"tests": ()})
    acme = Upstream("Acme", "1.0", project / "selection.yaml", lambda: project, dict, lambda: Target("cpu", True))
    page = with_section("", first, acme)
    both = with_section(page, nothing_ran.model_copy(update={"device": "acme"}), acme)
    assert [line for line in both.splitlines() if line.startswith("## ")] == ["## acme", "## cpu"]
    assert both.endswith(page[page.index("## cpu") :])
    again = with_section(both, nothing_ran, acme)
    assert again.count("0 passed") == 2
    assert again.count("# Acme's own tests") == 1


def test_paths_and_names_choose_among_the_projects_tests(project: Path) -> None:
    page = ("--accelplug-upstream-page", "other.md")
    done = run(project, "acme", "tests/test_devices.py", "-k", "turned or rounding", "-q", *page)
    assert done.returncode == 0
    assert "other.md: left as it was, as not all tests ran" in done.stdout
    assert not (project / "other.md").exists()
    assert "Acme 1.0 on cpu (simulated): 2 passed (1 of them relaxed)" in done.stdout
    assert "Out of date" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("acem",), "no such project; did you mean 'acme'?"),
        (("acme", "--accelplug-upstream-select", "device"), "no such group; did you mean 'devices'?"),
    ],
)
def test_a_misspelt_name_is_a_usage_error_with_the_nearest_one(
    project: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = run(project, *arguments)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert said in done.stderr
