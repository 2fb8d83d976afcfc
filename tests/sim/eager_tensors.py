"""Tensors and operators on a simulated device, each case against the CPU. device_basics.py runs it."""

from __future__ import annotations

import copy
import io
import pickle

import torch
from eager_case import DEVICE, A, B, case, neuron_only, raises, same, same_gradients
from torch import nn


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
