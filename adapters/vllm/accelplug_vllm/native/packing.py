"""A step's inputs in one transfer, where vLLM's V1 runner makes one for each of them.

The runner fills its buffers on the host and copies each to the device when it is ready. Here these copies wait, and go
together before anything reads them, with what attention needs of how the batch is divided. See compat: "runner.inputs".

With the seven inputs of `tests/vllm/test_native_packing.py` and attention's layout that costs 0.32 ms of Python a step
on the simulator (500 µs in place of 178, the least of 600 steps taken in turn) and saves seven transfers: it pays where
one takes more than some 45 µs. What one takes on hardware isn't known.
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
    prepare, token_ids = runner._prepare_inputs, TokenIds(runner)

    def prepare_packed(scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        def besides() -> None:
            _lay_out_attention(runner)
            token_ids.prepare_ahead(scheduler_output)

        with Packed(runner.device.type, besides):
            return prepare(scheduler_output, *args, **kwargs)

    runner._prepare_input_ids = token_ids.prepare
    runner._prepare_inputs = prepare_packed


class TokenIds:
    """The runner's token ids, and where those lie that only the device knows yet: prepared before the first copy goes.

    The runner does that last, and what it copies for it would go by itself.
    """

    def __init__(self, runner: Any) -> None:
        self._runner = runner
        self._prepare = runner._prepare_input_ids
        self._ahead: tuple[Any, list[np.ndarray]] | None = None  # for which step, and from what

    def prepare_ahead(self, scheduler_output: Any) -> None:
        requests = self._runner.input_batch.num_reqs
        ends = self._runner.query_start_loc.np[1 : requests + 1]
        tokens = scheduler_output.total_num_scheduled_tokens
        self._ahead = scheduler_output, self._read(requests, tokens, ends)
        self._prepare(scheduler_output, requests, tokens, ends)

    def prepare(self, scheduler_output: Any, requests: int, tokens: int, ends: np.ndarray) -> None:
        """In the place of the runner's: does it again where it would read something else by now."""
        ahead, self._ahead = self._ahead, None
        read = self._read(requests, tokens, ends)
        if ahead is None or ahead[0] is not scheduler_output or not all(map(np.array_equal, ahead[1], read)):
            self._prepare(scheduler_output, requests, tokens, ends)

    def _read(self, requests: int, tokens: int, ends: np.ndarray) -> list[np.ndarray]:
        runner = self._runner
        return [runner.prev_positions.np[:requests].copy(), runner.input_ids.cpu[:tokens].numpy().copy(), ends.copy()]


def _lay_out_attention(runner: Any) -> None:
    """Sends what the runner's next attention metadata needs on the device."""
    requests = runner.input_batch.num_reqs
    ends, lengths = runner.query_start_loc.np[: requests + 1], runner.optimistic_seq_lens_cpu[:requests].numpy()

    def send(values: np.ndarray) -> Tensor:
        there: Tensor = torch.empty(len(values), dtype=torch.int64, device=runner.device)
        return there.copy_(torch.from_numpy(values))

    for group in itertools.chain.from_iterable(runner.attn_groups):
        builder = group.get_metadata_builder()
        if isinstance(builder, PagedMetadataBuilder):  # and not one of the vendor's own
            builder.divide_ahead(np.diff(ends), lengths.copy(), send)


class Packed(TorchFunctionMode):  # type: ignore[misc]
    """Copies of integers from the host to the device wait until a function is given a tensor that one of them fills.

    ``besides()`` is called before the first of them goes, and what it copies goes with it.
    """

    def __init__(self, device_type: str, besides: Callable[[], None]) -> None:
        super().__init__()
        self._device_type = device_type
        self._besides: Callable[[], None] | None = besides
        self._waiting: list[tuple[Tensor, Tensor]] = []
        self._memories: set[int] = set()  # that they are to fill

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.copy_ and self._is_there(args[0]) and args[0].dtype in PACKABLE:
            if args[0].shape == args[1].shape and _may_wait(args[1]):
                return self._wait(*args[:2])
        elif func is Tensor.to:
            device = _only_device(args[1:], kwargs or {})
            if device and device.type == self._device_type and _may_wait(args[0]):
                return self._wait(torch.empty_like(args[0], device=device), args[0])
        if self._waiting and not _only_looks(func, args) and any(map(self._is_waited_for, _tensors((args, kwargs)))):
            self._send()
        return func(*args, **(kwargs or {}))

    def __exit__(self, error: Any, *details: Any) -> None:
        super().__exit__(error, *details)
        if self._waiting and error is None:
            self._send()

    def _send(self) -> None:
        besides, self._besides = self._besides, None
        if besides is not None:
            with self:  # whose copies wait, too, and go at the latest when this is left
                besides()
            return
        waiting, self._waiting = self._waiting, []
        self._memories.clear()
        together = torch.cat([source.flatten() for _, source in waiting]).to(waiting[0][0].device, non_blocking=True)
        for (to, source), part in zip(waiting, together.split([source.numel() for _, source in waiting]), strict=True):
            to.copy_(part.view(source.shape))

    def _wait(self, to: Tensor, source: Tensor) -> Tensor:
        # A copy: the runner may fill the buffer anew.
        self._waiting.append((to, source.to(PACKED, copy=True)))
        self._memories.add(_memory(to))
        return to

    def _is_waited_for(self, tensor: Tensor) -> bool:
        """Whether it shares memory with one that a copy is to fill."""
        return self._is_there(tensor) and _memory(tensor) in self._memories

    def _is_there(self, tensor: Tensor) -> bool:
        return bool(tensor.device.type == self._device_type)


def _may_wait(source: Tensor) -> bool:
    """Whether it lies on the host, with integers that can go with the others."""
    if source.device.type != "cpu" or source.dtype not in PACKABLE or not source.numel():
        return False
    if source.dtype is not torch.int64:
        return True
    least, most = source.aminmax()
    return bool(torch.iinfo(PACKED).min <= int(least) and int(most) <= torch.iinfo(PACKED).max)


def _only_device(args: Sequence[Any], kwargs: dict[str, Any]) -> torch.device | None:
    """The device that `Tensor.to` is given, if it is given nothing else that changes the result."""
    given = {"device": args[0], **kwargs} if args else kwargs
    device = given.get("device")
    if len(args) > 1 or given.keys() > {"device", "non_blocking"} or not isinstance(device, (str, torch.device)):
        return None
    return torch.device(device)


def _memory(tensor: Tensor) -> int:
    """The same for all tensors that are views of one."""
    return int(tensor.untyped_storage()._cdata)


def _only_looks(func: Any, args: Any) -> bool:
    """Whether a function makes a view or reads an attribute, and no data."""
    if func is Tensor.split or getattr(func, "__name__", "") == "__get__":
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
