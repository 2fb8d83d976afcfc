"""Counts what crosses between host and device in the steps of a worker of vLLM's."""

from __future__ import annotations

from typing import Any

from accelplug.tables import fallback


class CountsSteps:
    """Put before a worker's class. A step is a call of ``execute_model``, and of ``sample_tokens`` after it."""

    def execute_model(self, scheduler_output: Any) -> Any:
        """As upstream's."""
        with fallback.live().steps.within(begins=scheduler_output.total_num_scheduled_tokens > 0):
            return super().execute_model(scheduler_output)  # type: ignore[misc]

    def sample_tokens(self, grammar_output: Any) -> Any:
        """As upstream's."""
        with fallback.live().steps.within(begins=False):
            return super().sample_tokens(grammar_output)  # type: ignore[misc]
