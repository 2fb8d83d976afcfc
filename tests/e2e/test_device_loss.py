"""Case C27: a device is lost in the middle of requests. They can be sent again, and people are told why."""

from __future__ import annotations

from pathlib import Path

import pytest
from lost_requests import lose

from accelplug.sim import build
from tools.server import serving

pytestmark = pytest.mark.e2e

SMALL = ("--max-model-len", "256", "--max-num-seqs", "4", "--enforce-eager", "--kv-cache-memory-bytes", "64M")


def test_requests_get_a_503_with_the_reason_and_the_server_ends_with_it(checkpoint: Path, tmp_path: Path) -> None:
    build.library()
    profile, file = tmp_path / "neuron.toml", tmp_path / "gone"
    profile.write_text(f'base = "neuron"\n[faults]\nlost_with_file = "{file}"\n')
    environ = {"HF_HUB_OFFLINE": "1", "ACCELPLUG_SIMULATE": str(profile)}
    arguments = ("--device", "auto", "--served-model-name", "model", *SMALL)
    with serving(str(checkpoint), *arguments, log=tmp_path / "log", environ=environ) as server:
        lost = lose(server, file)
    reason = "AcceleratorError: neuron:0 (simulated) is lost: its profile says so"
    assert reason in lost.stream
    assert reason in lost.whole
    assert "This server had AWS Neuron (Trainium2), simulated and ends" in lost.whole
    assert lost.status == 503
    assert not lost.healthy
    assert len(lost.last_words) == 1
    assert reason in lost.last_words[0]
    assert "`accelplug devices`" in lost.last_words[0]
