"""The pytest plugin: its options, and the process that the tests run in.

That process is another pytest, with the project's folder as its root and without the settings, the conftest files and
the imports of the one that was asked. `session` is what this plugin does in there.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from accelplug.errors import AccelplugError
from accelplug.interpreters import ended

# In seconds, where pytest-timeout is installed: a test that hangs would keep the others from being counted.
LONGEST_TEST = 300


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("accelplug", "a project's own tests on an accelplug device")
    group.addoption(
        "--accelplug-upstream",
        metavar="PROJECT",
        help="run tests of this project (vllm) on the active device, or a simulated one with ACCELPLUG_SIMULATE=NAME; "
        "paths and -k then choose among its tests, -v names the tests behind every reason at the end",
    )
    group.addoption(
        "--accelplug-upstream-select",
        metavar="GROUP",
        action="append",
        default=[],
        help="only this group of the project's selection; may be given again",
    )
    group.addoption("--accelplug-upstream-json", metavar="FILE", help="write what came of each test to this file")
    group.addoption(
        "--accelplug-upstream-page",
        metavar="FILE",
        help="write the device's section of this page (Markdown), if all tests ran; other devices' sections stay",
    )
    group.addoption("--accelplug-upstream-root", help=argparse.SUPPRESS)  # the project's folder, in its process


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Starts the other pytest, and ends as it does."""
    project = config.getoption("accelplug_upstream")
    if project is None or config.getoption("accelplug_upstream_root") is not None:
        return None
    try:
        return _run(config, project)
    except AccelplugError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """In the process of the tests: the device is live and imports are retargeted before the project's conftest."""
    options = early_config.known_args_namespace
    if options.accelplug_upstream_root is None:
        return
    from accelplug.testing.session import UpstreamSession

    try:
        session = UpstreamSession.start(
            options.accelplug_upstream, Path(options.accelplug_upstream_root), options.accelplug_upstream_select
        )
    except AccelplugError as error:
        raise pytest.UsageError(str(error)) from None
    early_config.pluginmanager.register(session, "accelplug_upstream_session")


def _run(config: pytest.Config, project: str) -> int:
    from accelplug.testing.selection import read
    from accelplug.testing.upstream import find

    upstream = find(project)
    chosen = read(upstream.selection).only(config.getoption("accelplug_upstream_select"))
    root = upstream.fetch()
    command = [sys.executable, "-m", "pytest", "--tb=short", "--disable-warnings", *config.invocation_params.args]
    command += ["-c", os.devnull, f"--rootdir={root}", f"--confcutdir={root}", f"--accelplug-upstream-root={root}"]
    command += ["-p", "no:cacheprovider", "--continue-on-collection-errors"]
    command += ["-W", "ignore::pytest.PytestUnknownMarkWarning"]
    if config.pluginmanager.hasplugin("timeout"):
        command += [f"--timeout={LONGEST_TEST}"]
    for written in ("json", "page"):  # the other process has another working folder
        if file := config.getoption(f"accelplug_upstream_{written}"):
            command += [f"--accelplug-upstream-{written}={Path(file).absolute()}"]
    if not config.known_args_namespace.file_or_dir:
        command += [path for group in chosen.groups for path in group.paths]
    environment = {**os.environ, **upstream.environment()}
    # Ctrl-C reaches that process too, which ends by itself and says what came of the tests until then.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        code = subprocess.run(command, cwd=root, env=environment, check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)
    if code < 0:
        raise AccelplugError(f"the tests have no result: {ended(code)}; -v says in which test")
    return code
