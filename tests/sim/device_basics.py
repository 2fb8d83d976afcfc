"""What ordinary PyTorch does on the device, each case against the CPU. As a program: prints a JSON of the failures."""

from __future__ import annotations

import copy
import io
import json
import pickle
import sys
import traceback
import warnings
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

DEVICE = sys.argv[1] if __name__ == "__main__" else ""
COUNT = {"neuron": 4, "spyre": 1}
CASES: dict[str, Callable[[], None]] = {}
NEURON_ONLY: set[str] = set()  # what needs several devices, or complex numbers


def case(function: Callable[[], None]) -> Callable[[], None]:
    CASES[function.__name__] = function
    return function


def neuron_only(function: Callable[[], None]) -> Callable[[], None]:
    NEURON_ONLY.add(function.__name__)
    return case(function)


def numbers(*size: int) -> torch.Tensor:
    return torch.arange(torch.Size(size).numel(), dtype=torch.float32).sin().reshape(size)


def same(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> None:
    """The function gives the same on the device as on the CPU, and its result is on the device."""
    expected = function(*inputs)
    got = function(*(x.to(DEVICE) for x in inputs))
    assert got.device.type == DEVICE, f"the result is on {got.device}"
    assert torch.equal(got.cpu(), expected), (got.cpu() - expected).abs().max()


def same_gradients(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> None:
    """The gradients of the sum of the function's result are the same on both."""
    cpu = [x.clone().requires_grad_() for x in inputs]
    device = [x.to(DEVICE).requires_grad_() for x in inputs]
    function(*cpu).sum().backward()
    function(*device).sum().backward()
    for x, y in zip(cpu, device, strict=True):
        assert y.grad.device.type == DEVICE
        assert torch.equal(x.grad, y.grad.cpu())


def raises(error: type[BaseException], words: str, function: Callable[[], object]) -> None:
    with pytest.raises(error) as caught:
        function()
    assert words in str(caught.value), caught.value


A, B = numbers(8, 8), numbers(8, 8).cos()


@case
def tensors_are_made_on_the_device_and_moved() -> None:
    for made in (torch.empty(4, device=DEVICE), torch.arange(4, device=DEVICE), A.to(DEVICE), getattr(A, DEVICE)()):
        assert made.device == torch.device(DEVICE, 0)
    assert torch.equal(A.to(DEVICE).cpu(), A)
    with torch.device(DEVICE):
        assert torch.ones(2).device.type == DEVICE
    assert repr(torch.arange(2.0, device=DEVICE)) == f"tensor([0., 1.], device='{DEVICE}:0')"


@case
def arithmetic_takes_scalars_of_the_cpu_and_refuses_its_tensors() -> None:
    same(lambda a, b: a @ b + 1, A, B)
    same(lambda a: a + torch.tensor(2.0), A)
    raises(RuntimeError, "same device", lambda: A.to(DEVICE) + B)


@case
def writing_in_place_and_through_indices() -> None:
    def write(x: torch.Tensor) -> torch.Tensor:
        x = x.clone().add_(1).mul_(2)
        x[1:3] = 5
        x[:, 0] += 1
        x[x > 5] = 0
        x.index_put_((torch.tensor([0, 1], device=x.device),), torch.tensor(7.0, device=x.device))
        return x

    same(write, A)


@case
def views_share_memory_with_what_they_are_views_of() -> None:
    def write_through_a_view(x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        x.t()[2:5].unsqueeze(0).zero_()
        x.chunk(2)[0].fill_(3)
        return x

    same(write_through_a_view, A)
    x = A.to(DEVICE)
    assert x.t()[2:5]._is_view()
    assert x.unfold(0, 2, 1).untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


@case
def strided_expanded_and_empty_tensors() -> None:
    same(lambda a: a[1:, ::2].t().contiguous() * a[3, 3], A)
    same(lambda a: a[:1].expand(4, 8) + a[4:, :], A)
    same(lambda a: a.as_strided((3, 3), (1, 1), 2).sum(0), A)
    same(lambda a: torch.cat([a[:0], a]), A)
    same(lambda a: a[0, 0].clone().reshape(()), A)


@case
def out_is_resized_and_resize_keeps_the_values() -> None:
    out = torch.empty(0, device=DEVICE)
    torch.add(A.to(DEVICE), B.to(DEVICE), out=out)
    assert torch.equal(out.cpu(), A + B)
    grown = torch.arange(4.0, device=DEVICE).resize_(2, 6)
    assert grown.cpu().flatten()[:4].tolist() == [0, 1, 2, 3]
    assert torch.empty(0, device=DEVICE).set_(A.to(DEVICE).untyped_storage(), 8, (2, 2), (2, 1)).shape == (2, 2)


@case
def choosing_and_ordering() -> None:
    same(lambda a, b: torch.where(a > 0, a, b).clamp(-1, 1).masked_fill(a > 1, 0.0), A, B)
    same(lambda a: a.topk(3).values, A)
    same(lambda a: torch.sort(a, 1).values, A)
    same(lambda a: torch.nonzero(a > 0), A)
    same(lambda a: torch.unique(a), A.round())
    same(lambda a: a.gather(0, torch.zeros(1, 8, dtype=torch.long, device=a.device)), A)
    assert A.to(DEVICE)[0].tolist() == A[0].tolist()


@case
def many_tensors_at_once() -> None:
    same(lambda a, b: torch.stack(torch._foreach_add([a, b], 1.0)), A, B)
    same(lambda a, b: torch.einsum("ij,jk->ik", a, b), A, B)
    same(lambda a, b: torch.vmap(torch.dot)(a, b), A, B)
    same(lambda a: torch.func.grad(lambda x: (x**2).sum())(a), A)


@neuron_only
def complex_numbers_and_their_gradients() -> None:
    same(lambda a: torch.fft.fft(a).real, A)
    same(lambda a, b: (torch.complex(a, b).conj() @ torch.complex(a, b)).real, A, B)
    same_gradients(lambda x: torch.sgn(torch.complex(x, x)).abs(), A)


@case
def linear_algebra() -> None:
    same(lambda a: torch.linalg.cholesky(a @ a.t() + torch.eye(8, device=a.device) * 8), A)


@case
def neural_network_layers() -> None:
    same(lambda x, w: F.conv2d(x, w, padding=1), numbers(2, 3, 8, 8), numbers(4, 3, 3, 3))
    same(lambda x, w: F.conv_transpose2d(x, w), numbers(2, 3, 4, 4), numbers(3, 2, 3, 3))
    same(lambda x: F.batch_norm(x, None, None, training=True), numbers(2, 3, 4, 4))
    same(lambda x: F.layer_norm(x, (8,)), A)
    same(lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), numbers(1, 2, 8, 16))
    same(lambda w: F.embedding(torch.tensor([1, 2], device=w.device), w), A)


@case
def gradients() -> None:
    same_gradients(lambda x, w: F.gelu(x @ w).softmax(-1) * 2 + (x[1:3] ** 2).mean(), A, B)
    same_gradients(lambda x, w: F.conv2d(x, w, stride=2), numbers(2, 3, 8, 8), numbers(4, 3, 3, 3))
    same_gradients(lambda q: F.scaled_dot_product_attention(q, q, q), numbers(1, 2, 8, 16))
    same_gradients(lambda x: torch.utils.checkpoint.checkpoint(lambda y: y @ y, x, use_reentrant=False), A)


def train(make: Callable[..., torch.optim.Optimizer]) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
    twin = copy.deepcopy(model).to(DEVICE)
    for network, x in ((model, A), (twin, A.to(DEVICE))):
        optimizer = make(network.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            network(x).pow(2).sum().backward()
            optimizer.step()
    assert all(torch.equal(p, q.cpu()) for p, q in zip(model.parameters(), twin.parameters(), strict=True))


@case
def adamw_trains_to_the_same_weights() -> None:
    for foreach in (False, True):
        train(lambda parameters, foreach=foreach: torch.optim.AdamW(parameters, lr=0.1, foreach=foreach))


@case
def lstm_and_gru_run_forward_and_backward() -> None:
    for kind in (nn.LSTM, nn.GRU):
        model = kind(4, 6, num_layers=2)
        twin = copy.deepcopy(model).to(DEVICE)
        x = numbers(5, 3, 4)
        expected, got = model(x)[0], twin(x.to(DEVICE))[0]
        expected.sum().backward()
        got.sum().backward()
        torch.testing.assert_close(got.cpu(), expected, rtol=0, atol=1e-6)
        for p, q in zip(model.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(q.grad.cpu(), p.grad, rtol=0, atol=1e-5)


@case
def autocast_lowers_and_raises_precision_as_cuda_does() -> None:
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        assert (A.to(DEVICE) @ B.to(DEVICE)).dtype is torch.bfloat16
        assert A.to(DEVICE).bfloat16().softmax(-1).dtype is torch.float32
    with torch.autocast(DEVICE, dtype=torch.float16):
        assert F.linear(A.to(DEVICE), B.to(DEVICE)).dtype is torch.float16


@case
def tensors_are_saved_loaded_and_copied() -> None:
    file = io.BytesIO()
    torch.save({"a": A.to(DEVICE), "p": nn.Parameter(B.to(DEVICE)), "v": A.to(DEVICE)[1:3]}, file)
    for place, kind in ((None, DEVICE), ("cpu", "cpu"), (DEVICE, DEVICE)):
        file.seek(0)
        loaded = torch.load(file, map_location=place)
        assert {x.device.type for x in loaded.values()} == {kind}
        assert torch.equal(loaded["a"].cpu(), A)
    for copied in (copy.deepcopy(A.to(DEVICE)), pickle.loads(pickle.dumps(A.to(DEVICE)))):
        assert copied.device.type == DEVICE
        assert torch.equal(copied.cpu(), A)
    assert A.to(DEVICE).untyped_storage().cpu().device.type == "cpu"


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
    with torch.random.fork_rng(devices=[0], device_type=DEVICE):
        torch.randn(1, device=DEVICE)
    module.manual_seed_all(5)
    assert module.initial_seed() == 5


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


@case
def inference_mode_and_grad_scaler() -> None:
    with torch.inference_mode():
        result = A.to(DEVICE) @ B.to(DEVICE) + 1
        result[0] = 1
    scaled = torch.amp.GradScaler(DEVICE).scale(torch.ones(1, device=DEVICE))
    assert scaled.device.type == DEVICE


@case
def what_it_can_not_hold_is_refused_by_name() -> None:
    raises(NotImplementedError, "strided tensors only", lambda: A.to(DEVICE).to_sparse())
    raises(TypeError, "convert", lambda: A.to(DEVICE).numpy())


@case
def libraries_with_their_own_ops_run_on_their_cpu_kernels() -> None:
    library = torch.library.Library("basics", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    same(lambda a: torch.ops.basics.twice(a), A)
    library.define("nowhere(Tensor x) -> Tensor")
    raises(NotImplementedError, "nowhere", lambda: torch.ops.basics.nowhere(A.to(DEVICE)))


def main() -> None:
    import accelplug

    warnings.simplefilter("ignore")
    assert str(accelplug.auto()) == DEVICE
    cases = {name: function for name, function in CASES.items() if DEVICE == "neuron" or name not in NEURON_ONLY}
    failures = {name: said for name, function in cases.items() if (said := failure(function))}
    print(json.dumps(failures))


def failure(function: Callable[[], None]) -> str:
    """The traceback of a case that fails, "" of one that doesn't."""
    try:
        function()
    except BaseException:
        return traceback.format_exc()
    return ""


if __name__ == "__main__":
    main()
