"""Recorded metrics of a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def recorded() -> tuple[str, str]:
    """Two scrapes of a real vLLM on the simulated neuron device, two seconds apart, between which it answered."""
    return (HERE / "neuron_before.txt").read_text(), (HERE / "neuron_after.txt").read_text()
