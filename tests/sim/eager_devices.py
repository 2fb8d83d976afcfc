"""What PyTorch does with the device itself: counts, memory, streams, seeds, profiles. device_basics.py runs it."""

from __future__ import annotations

import torch
from eager_case import DEVICE, A, B, case, neuron_only, raises

COUNT = {"neuron": 4, "spyre": 1}


@case
def torch_accelerator_answers_everything() -> None:
    ask = torch.accelerator
    assert ask.is_available()
    assert ask.current_accelerator() == torch.device(DEVICE)
    assert ask.device_count() == getattr(torch, DEVICE).device_count() == COUNT[DEVICE]
    assert ask.current_device_index() == 0
    assert "supported_dtypes" in ask.get_device_capability()
    ask.synchronize()
    ask.empty_cache()
    ask.empty_host_cache()


@case
def memory_is_counted() -> None:
    before = torch.accelerator.memory_allocated()
    torch.accelerator.reset_peak_memory_stats()
    held = torch.empty(1 << 18, device=DEVICE)
    assert torch.accelerator.memory_allocated() - before == held.nbytes
    del held
    assert torch.accelerator.memory_allocated() == before
    assert torch.accelerator.max_memory_allocated() - before == 1 << 20
    free, total = torch.accelerator.get_memory_info()
    assert total - free == before


@neuron_only
def there_are_several_devices_and_they_do_not_mix() -> None:
    module = getattr(torch, DEVICE)
    assert torch.ones(2, device=f"{DEVICE}:1").to(f"{DEVICE}:2").device.index == 2
    with module.device(2):
        assert torch.empty(1, device=DEVICE).device.index == module.current_device() == 2
    with torch.accelerator.device_index(3):
        assert torch.empty(1, device=DEVICE).device.index == 3
    assert module.current_device() == 0
    raises(
        RuntimeError, "same device", lambda: torch.ones(2, device=f"{DEVICE}:1") + torch.ones(2, device=f"{DEVICE}:2")
    )
    raises(RuntimeError, "there are 4", lambda: torch.empty(1, device=f"{DEVICE}:7"))


@case
def streams_and_events() -> None:
    start, end = (torch.Event(device=DEVICE, enable_timing=True) for _ in range(2))
    start.record()
    A.to(DEVICE) @ B.to(DEVICE)
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) > 0
    stream = torch.Stream(device=DEVICE)
    with stream:
        assert torch.accelerator.current_stream() == stream
    assert torch.accelerator.current_stream() != stream
    A.to(DEVICE).record_stream(stream)


@case
def random_numbers_are_the_cpus() -> None:
    module = getattr(torch, DEVICE)
    torch.manual_seed(3)
    on_device = torch.randn(4, device=DEVICE)
    torch.manual_seed(3)
    assert torch.equal(on_device.cpu(), torch.randn(4))
    state = module.get_rng_state()
    first = torch.rand(3, device=DEVICE)
    module.set_rng_state(state)
    assert torch.equal(first.cpu(), torch.rand(3, device=DEVICE).cpu())
    own = torch.Generator(device=DEVICE).manual_seed(7)
    assert torch.equal(
        torch.randn(3, device=DEVICE, generator=own).cpu(), torch.randn(3, generator=torch.Generator().manual_seed(7))
    )
    before = module.get_rng_state()
    with torch.random.fork_rng(devices=[0], device_type=DEVICE):
        torch.randn(1, device=DEVICE)
    assert torch.equal(module.get_rng_state(), before)
    module.manual_seed_all(5)
    assert module.initial_seed() == 5


@case
def pinned_memory_says_so() -> None:
    assert not A.is_pinned()
    assert A.pin_memory().is_pinned()
    dataset = torch.utils.data.TensorDataset(A)
    assert next(iter(torch.utils.data.DataLoader(dataset, pin_memory=True)))[0].is_pinned()


@case
def the_profiler_names_the_ops() -> None:
    with torch.profiler.profile() as profile:
        A.to(DEVICE) @ B.to(DEVICE)
    assert any("mm" in event.key for event in profile.key_averages())
