"""vLLM's scheduler, with the tokens of a step cut to a bucket where that costs less than padding to the next one."""

from __future__ import annotations

from typing import Any

from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.request import Request

from accelplug.buckets import AffineCost, Slicer
from accelplug_vllm.compat import moved
from accelplug_vllm.native import device, options, shapes


class Slicing:
    """What both schedulers do more than vLLM's. Everything but the number of tokens in a step is vLLM's."""

    running: list[Request]
    max_num_scheduled_tokens: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        made = shapes.of(self.vllm_config, device.current())  # type: ignore[attr-defined]
        assert made is not None, "only a device with static shapes has this scheduler"
        launch = options.read(self.vllm_config.additional_config).launch_cost  # type: ignore[attr-defined]
        self._slicer = Slicer(made.tokens, AffineCost(launch=launch))
        self._most = self.max_num_scheduled_tokens

    def schedule(self, *args: Any, **kwargs: Any) -> SchedulerOutput:
        """As vLLM's, with a budget of tokens that fills a bucket where there is more to do than that."""
        self.max_num_scheduled_tokens = min(self._most, self._budget(*self._wanted()))
        try:
            return super().schedule(*args, **kwargs)  # type: ignore[misc]
        finally:
            self.max_num_scheduled_tokens = self._most

    def _budget(self, decodes: int, tokens: int) -> int:
        """How many of ``tokens`` run in this step. ``decodes`` of them are the next ones of answers: the budget holds
        these and more, so that nobody's answer waits and a prefill goes on."""
        if tokens == 0:
            return self._most
        first = self._slicer.slices(min(tokens, self._most))[0].bucket
        return first if first > decodes else self._most

    def _wanted(self) -> tuple[int, int]:
        """The next tokens of answers, and all tokens that could run in this step if there were room.

        What of a waiting prompt is in the prefix cache isn't known yet, so there may be fewer.
        """
        decodes = tokens = 0
        for request in self.running:
            wanted = request.num_tokens_with_spec + request.num_output_placeholders - request.num_computed_tokens
            tokens += max(wanted, 0)
            decodes += 0 if request.is_prefill_chunk else max(wanted, 0)
        seats = self.max_num_running_reqs - len(self.running)  # type: ignore[attr-defined]
        for request in moved.waiting(self):
            if seats <= 0 or tokens >= self._most:
                break
            seats -= 1
            tokens += request.num_tokens - request.num_computed_tokens
        return decodes, tokens


class SlicingScheduler(Slicing, Scheduler):  # type: ignore[misc]
    """Without async scheduling."""


class AsyncSlicingScheduler(Slicing, AsyncScheduler):  # type: ignore[misc]
    """With async scheduling."""
