"""Every place where native mode works around vLLM is still needed; one that isn't fails here, and its code can go."""

from __future__ import annotations

import pytest
from accelplug_vllm.compat import SEAMS, Seam


@pytest.mark.parametrize("seam", SEAMS, ids=lambda seam: seam.name)
def test_vllm_still_needs_it(seam: Seam) -> None:
    assert seam.still_needed(), f"vLLM can do this by now: {seam.feature}"
