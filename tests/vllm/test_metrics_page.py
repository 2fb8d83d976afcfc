"""docs/metrics.md lists exactly the metrics that there are, with their labels."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"

EXPORTED = """
import types
from prometheus_client import REGISTRY
from prometheus_client.core import Metric
from accelplug.buckets import Collector, Usage
from accelplug.tables.fallback_metrics import FallbackCollector
from accelplug_vllm import metrics

metrics.publish()
profiler = types.SimpleNamespace(profiler="torch", torch_profiler_dir="/traces")
metrics.publish_profiler(types.SimpleNamespace(profiler_config=profiler))
buckets = Collector(lambda: [Usage("prefill").snapshot()])
families = [*REGISTRY.collect(), *FallbackCollector().collect(), *buckets.collect()]
for family in families:
    if family.name.startswith("accelplug_"):
        name = family.name + "_total" * (family.type == "counter")
        labels = getattr(family, "_labelnames", None) or {label for sample in family.samples for label in sample.labels}
        print(name, *sorted(labels))
"""


def test_the_page_lists_what_is_exported_and_nothing_else(
    python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = python(EXPORTED)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^\| `(accelplug_\w+)` \| ([^|]*) \|", PAGE.read_text(), re.MULTILINE)
    listed = [" ".join([name, *sorted(re.findall(r"\w+", labels))]) for name, labels in rows]
    assert sorted(listed) == sorted(done.stdout.splitlines())
