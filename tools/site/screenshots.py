"""`make docs-images`: the pictures in docs/images, from real runs on simulated devices, taken in headless Chromium.

Each is of what a command prints or writes, and says itself that the device was simulated. The conformance report is the
one that `make conformance` has left in docs/conformance.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tools.site.browser import Browser

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
CONFORMANCE = ROOT / "docs" / "conformance" / "neuron.html"
LARGEST = 200_000  # bytes of a picture
COLUMNS = 118
SHARPNESS = 1.5

PROGRAM = """
import torch
from torch import nn

import accelplug

dev = accelplug.auto()
torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
model = nn.Sequential(nn.Embedding(64, 128), layer, nn.Linear(128, 64)).to(dev.torch_device, torch.float16)


@torch.inference_mode()
def step(tokens):
    probabilities = model(tokens)[:, -1].softmax(-1)
    likely, order = probabilities.sort(descending=True)
    likely = likely.masked_fill(likely.cumsum(-1) > 0.9, 0)
    chosen = order.gather(-1, likely.multinomial(1))
    return torch.cat([tokens[:, 1:], chosen], -1)


tokens = step(torch.randint(0, 64, (2, 32), dtype=torch.int32).to(dev.torch_device))
accelplug.fallback_report(reset=True)
with accelplug.fallback(time=True), accelplug.trace("trace.json", html="trace.html"):
    for _ in range(3):
        tokens = step(tokens)
accelplug.fallback_report().html("fallbacks.html")
"""
RUN = "exec(compile(open('sample.py').read(), 'sample.py', 'exec'))"  # reports then name the file without its folder

TERMINAL = """<!doctype html><meta charset="utf-8"><style>
:root {{ color-scheme: light dark; --back: #f6f8fa; --text: #1f2937; }}
@media (prefers-color-scheme: dark) {{ :root {{ --back: #161b22; --text: #d6dbe2; }} }}
body {{ margin: 0; background: var(--back); color: var(--text); width: max-content; padding: 14px 18px; }}
pre {{ margin: 0; font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }}
[style*="#008000"] {{ color: #2ea055 !important; }}  /* rich's green and dim are too dark on black */
[style*="#7f7f7f"] {{ color: #848d97 !important; }}
</style><pre>{text}</pre>"""


def main() -> None:
    """Runs everything, and writes a light and a dark picture of each."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        terminal(made / "devices.html", "neuron", "devices")
        shutil.copy(CONFORMANCE, made / "conformance.html")
        (made / "sample.py").write_text(PROGRAM)
        run(made, "spyre", "-c", RUN)
        with Browser() as browser:
            for name, height in (("devices", None), ("conformance", 760), ("fallbacks", 760), ("trace", 620)):
                for dark in (False, True):
                    picture(browser, made / f"{name}.html", height, dark)


def run(folder: Path, simulate: str, *command: str) -> str:
    """What a Python process prints; it may end with 1, where a report has found something."""
    settings = {"ACCELPLUG_SIMULATE": simulate, "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command} ended with {done.returncode}")
    return done.stdout


def terminal(page: Path, simulate: str, *command: str) -> None:
    """A page that looks like a terminal in which a command of accelplug's has run."""
    printed = f"\x1b[2m$ ACCELPLUG_SIMULATE={simulate} accelplug {' '.join(command)}\x1b[0m\n"
    printed += run(page.parent, simulate, "-m", "accelplug", *command)
    console = Console(record=True, width=COLUMNS, file=StringIO())
    console.print(Text.from_ansi(printed))
    page.write_text(TERMINAL.format(text=console.export_html(inline_styles=True, code_format="{code}")))


def picture(browser: Browser, page: Path, height: int | None, dark: bool) -> None:
    """The page's upper part, or all of it where it is as wide as what it shows."""
    shown = browser.page(width=1100, height=height or 400, dark=dark, sharpness=SHARPNESS)
    shown.open(page.as_uri())
    if height is None:
        box = shown.evaluate("(({width, height}) => ({width, height}))(document.body.getBoundingClientRect())")
        shown.resize(round(box["width"]), round(box["height"]), SHARPNESS)
    file = IMAGES / f"{page.stem}{'-dark' if dark else ''}.png"
    shown.picture(file, height=height)
    if file.stat().st_size > LARGEST:
        raise SystemExit(f"{file} has {file.stat().st_size} bytes, which is more than {LARGEST}")
    print(f"{file.relative_to(ROOT)}: {file.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
