"""A step's inputs in one transfer, where vLLM's V1 runner makes one for each of them.

The runner fills its buffers on the host and copies each to the device when it is ready. Here these copies wait, and go
together before anything reads them, with what attention needs of how the batch is divided. See compat: "runner.inputs".

With the five inputs of `tests/vllm/test_native_packing.py` that costs 0.18 ms of Python a step on the simulator (234 µs
in place of 51, the least of 600 steps taken in turn) and saves four transfers, and one more where attention has a
layout to send: it pays where one takes more than some 40 µs. What one takes on hardware isn't known.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from accelplug_vllm.native.attention.metadata import PagedMetadataBuilder

# What goes together is of one type. A device need not be able to see the same memory as another one, and some hold
# 64 bits in 32 themselves.
PACKED = torch.int32
PACKABLE = (torch.int32, torch.int64, torch.bool)


def install(runner: Any) -> None:
    """Makes the runner's inputs go together, from the next step on."""
    prepare, ids = runner._prepare_inputs, runner.input_ids
    copy_ids = ids.copy_to_gpu
    sent: list[Tensor] = []

    def besides(tokens: int) -> list[tuple[Tensor, Tensor]]:
        """The token ids are ready before the first copy goes, and the runner copies them after it."""
        sent[:] = [ids.cpu[:tokens].clone()]
        return [(ids.gpu[:tokens], sent[0]), *_attention(runner)]

    def copy_ids_where_they_are_others(tokens: int | None = None) -> Tensor:
        if tokens is not None and sent and torch.equal(ids.cpu[:tokens], sent[0]):
            there: Tensor = ids.gpu[:tokens]
            return there
        copied: Tensor = copy_ids(tokens)
        return copied

    def prepare_packed(scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        tokens = scheduler_output.total_num_scheduled_tokens
        with Packed(runner.device.type, lambda: besides(tokens)):
            result = prepare(scheduler_output, *args, **kwargs)
        sent.clear()
        return result

    ids.copy_to_gpu = copy_ids_where_they_are_others
    runner._prepare_inputs = prepare_packed


def _attention(runner: Any) -> list[tuple[Tensor, Tensor]]:
    """What the runner's next attention metadata needs on the device."""
    requests = runner.input_batch.num_reqs
    ends, lengths = runner.query_start_loc.np[: requests + 1], runner.optimistic_seq_lens_cpu[:requests].numpy()
    found: list[tuple[Tensor, Tensor]] = []

    def send(values: np.ndarray) -> Tensor:
        there = torch.empty(len(values), dtype=torch.int64, device=runner.device)
        found.append((there, torch.from_numpy(values)))
        return there

    for group in itertools.chain.from_iterable(runner.attn_groups):
        builder = group.get_metadata_builder()
        if isinstance(builder, PagedMetadataBuilder):  # and not one of the vendor's own
            builder.divide_ahead(np.diff(ends), lengths.copy(), send)
    return found


class Packed(TorchFunctionMode):  # type: ignore[misc]
    """Copies of integers from the host to the device wait until a function is given a tensor that one of them fills.

    ``besides()`` says what else goes with the first of them, as pairs of a tensor on the device and one on the host.
    """

    def __init__(self, device_type: str, besides: Callable[[], Sequence[tuple[Tensor, Tensor]]]) -> None:
        super().__init__()
        self._device_type = device_type
        self._besides = besides
        self._first = True
        self._waiting: list[tuple[Tensor, Tensor]] = []
        self._memories: set[int] = set()  # that they are to fill

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.copy_ and self._may_wait(*args[:2]):
            # A copy: the runner may fill the buffer anew.
            self._waiting.append((args[0], args[1].to(PACKED, copy=True)))
            self._memories.add(_memory(args[0]))
            return args[0]
        if self._waiting and not _only_looks(func, args) and any(map(self._is_waited_for, _tensors((args, kwargs)))):
            self._send()
        return func(*args, **(kwargs or {}))

    def __exit__(self, error: Any, *details: Any) -> None:
        super().__exit__(error, *details)
        if self._waiting and error is None:
            self._send()

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._memories.clear()
        if self._first:
            waiting += [(to, source.to(PACKED)) for to, source in self._besides()]
            self._first = False
        together = torch.cat([source.flatten() for _, source in waiting]).to(waiting[0][0].device, non_blocking=True)
        for (to, source), part in zip(waiting, together.split([source.numel() for _, source in waiting]), strict=True):
            to.copy_(part.view(source.shape))

    def _may_wait(self, to: Tensor, source: Tensor) -> bool:
        if not self._is_there(to) or source.device.type != "cpu" or to.shape != source.shape:
            return False
        if source.dtype not in PACKABLE or to.dtype not in PACKABLE or not source.numel():
            return False
        if source.dtype is not torch.int64:
            return True
        least, most = source.aminmax()
        return bool(torch.iinfo(PACKED).min <= int(least) and int(most) <= torch.iinfo(PACKED).max)

    def _is_waited_for(self, tensor: Tensor) -> bool:
        """Whether it shares memory with one that a copy is to fill."""
        return self._is_there(tensor) and _memory(tensor) in self._memories

    def _is_there(self, tensor: Tensor) -> bool:
        return bool(tensor.device.type == self._device_type)


def _memory(tensor: Tensor) -> int:
    """The same for all tensors that are views of one."""
    return int(tensor.untyped_storage()._cdata)


def _only_looks(func: Any, args: Any) -> bool:
    """Whether a function makes a view or reads an attribute, and no data."""
    if getattr(func, "__name__", "") == "__get__":
        return True
    if func is not Tensor.__getitem__:
        return False
    index = args[1] if isinstance(args[1], tuple) else (args[1],)
    return all(each is None or each is ... or isinstance(each, (int, slice)) for each in index)


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        yield from _tensors(tuple(value.values()))
