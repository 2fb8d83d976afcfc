"""Probes all of accelplug's backends in a process of its own, with everything loaded that the probes need.

`python probe.py RESULT` writes RESULT, a JSON object of milliseconds: the import of accelplug, loading the
backends, the first probe of all of them with the choice, and the probes alone as they time themselves.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

start = time.perf_counter()
import accelplug  # noqa: E402, F401

imported = time.perf_counter()
from accelplug.api import devices  # noqa: E402
from accelplug.plugins import discover  # noqa: E402

discover()
loaded = time.perf_counter()
selection = devices()
chosen = time.perf_counter()

unwanted = sorted({"torch", "torch_neuronx", "torch_spyre", "vllm"} & set(sys.modules))
if unwanted:
    sys.exit(f"probing imported {', '.join(unwanted)}")
Path(sys.argv[1]).write_text(
    json.dumps(
        {
            "import_ms": (imported - start) * 1e3,
            "load_ms": (loaded - imported) * 1e3,
            "choose_ms": (chosen - loaded) * 1e3,
            "probes_ms": sum(candidate.probe_ms for candidate in selection.candidates),
        }
    )
)
