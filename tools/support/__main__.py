"""`make support`: runs the catalogue on the CPU and on simulated devices, and writes docs/support.md from it.

Minutes: for each device a process with all the models, and a server. Exit status 1 where a device gives something else
than the CPU, or an error that is no refusal; the page says which.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from accelplug_vllm.tiny.models import MODELS, checkpoint

from tools.support.page import page
from tools.support.runs import CPU, DEVICES, ROOT, offline, online, rows
from tools.support.verdicts import DIFFERS, FAILED

PAGE = ROOT / "docs" / "support.md"
RECORD = ROOT / "docs" / "reference" / "support.json"


def main() -> int:
    """The exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a server that was started ends too
    for name in [name for name in os.environ if name.startswith("ACCELPLUG_")]:
        del os.environ[name]  # each run has its own
    for model in MODELS:
        checkpoint(model)
    with tempfile.TemporaryDirectory(prefix="accelplug-support-") as folder:
        came = {device: offline(device, Path(folder)) | online(device, Path(folder)) for device in DEVICES}
    found: dict[str, Any] = {"versions": versions(), "devices": [*DEVICES], "rows": rows(came)}
    RECORD.write_text(json.dumps(found, indent=1) + "\n")
    PAGE.write_text(page(found))
    print(f"wrote {PAGE.relative_to(ROOT)} and {RECORD.relative_to(ROOT)}")
    others = [device for device in DEVICES if device != CPU]
    bad = [(row["feature"], device) for row in found["rows"] for device in others if _bad(row[device])]
    for feature, device in bad:
        print(f"not right on {device}: {feature}", file=sys.stderr)
    return 1 if bad else 0


def versions() -> dict[str, str]:
    """Of what the outcome depends on."""
    import vllm

    return {"accelplug": version("accelplug"), "vLLM": vllm.__version__, "torch": version("torch")}


def _bad(cell: dict[str, str]) -> bool:
    return cell["outcome"] in (DIFFERS, FAILED)


if __name__ == "__main__":
    sys.exit(main())
