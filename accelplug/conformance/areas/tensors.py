"""Tensors at the edges: a layout gives right values or is refused; dtypes are what the constraints say. (C15)"""

from __future__ import annotations

import functools
import warnings

import torch

from accelplug.conformance.checks import Function, NamedCheck, check, expect
from accelplug.conformance.comparing import numbers, same
from accelplug.conformance.dtypes import NAMES as DTYPES
from accelplug.conformance.dtypes import names
from accelplug.conformance.subject import Subject

LAYOUT = "copy such a tensor before the kernel that can't take it, or refuse it by name; never read past its start"
DTYPE = "refuse it with an error that names the dtype, or take it into the constraints"


def case(function: Function) -> Function:
    return check(LAYOUT)(function)


@case
def a_storage_offset(subject: Subject) -> None:
    same(subject, lambda a: a[1:, 3:] * 2 + a[:-1, :-3], numbers(subject, 8, 8))
    same(subject, lambda a: a.flatten()[5:37].view(4, 8) @ a, numbers(subject, 8, 8))
    same(subject, lambda a: a.flatten()[1::7].softmax(0), numbers(subject, 8, 8))


@case
def transposed_and_strided(subject: Subject) -> None:
    same(subject, lambda a: a.t() @ a[:, ::2], numbers(subject, 8, 8))
    same(subject, lambda a: a.permute(2, 0, 1).sum(1) + a[..., 0].t().sum(), numbers(subject, 3, 4, 5))
    same(subject, lambda a: a.t().contiguous().view(-1), numbers(subject, 5, 3))
    same(subject, lambda a: a.flip(0).cumsum(1), numbers(subject, 5, 3))


@case
def channels_last(subject: Subject) -> None:
    def convolve(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.conv2d(x.to(memory_format=torch.channels_last), w, padding=1)

    same(subject, convolve, numbers(subject, 2, 3, 6, 6), numbers(subject, 4, 3, 3, 3))


@case
def expanded(subject: Subject) -> None:
    same(subject, lambda a: a[:1].expand(4, 8) + a[4:, :], numbers(subject, 8, 8))
    same(subject, lambda a: a[0].expand(3, 2, 8).clone().sum(-1), numbers(subject, 8, 8))
    same(subject, lambda a: a[:, :1].expand(8, 8) @ a, numbers(subject, 8, 8))


@case
def overlapping(subject: Subject) -> None:
    """Reading is right; writing through such a tensor is refused, as on the CPU."""
    same(subject, lambda a: a.as_strided((3, 3), (1, 1), 2).sum(0), numbers(subject, 8))
    same(subject, lambda a: a.unfold(0, 4, 1).softmax(-1), numbers(subject, 8))
    written = numbers(subject, 4).to(subject.type)
    try:
        written[:1].expand(4).add_(1)
    except RuntimeError as error:
        expect("memory location" in str(error), f"refused, but for another reason: {error}")
    else:
        raise AssertionError("a tensor whose elements share memory was written in place")


@case
def views_write_through(subject: Subject) -> None:
    def write(x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        x.t()[2:5].unsqueeze(0).zero_()
        x.chunk(2)[0].fill_(3)
        x[1:3, ::2] += 1
        x[x > 2.5] = 0
        x.view(-1)[-1] = 9
        return x

    same(subject, write, numbers(subject, 8, 8))


@case
def no_dimensions(subject: Subject) -> None:
    same(subject, lambda a: a[0, 0] + 1, numbers(subject, 2, 2))
    same(subject, lambda a: a.sum().reshape(()).clone().exp(), numbers(subject, 2, 2))
    same(subject, lambda a: torch.stack([a.sum(), a.mean()]).softmax(0), numbers(subject, 2, 2))
    expect(numbers(subject, 1)[0].to(subject.type).item() == 0, "item() gives another number")


@case
def no_elements(subject: Subject) -> None:
    same(subject, lambda a: torch.cat([a[:0], a]), numbers(subject, 4, 4))
    same(subject, lambda a: a[:0] @ a, numbers(subject, 4, 4))
    same(subject, lambda a: a[:, :0] @ a[:0], numbers(subject, 4, 4))
    same(subject, lambda a: a[:0].sum(0) + a[:0].softmax(-1).sum(), numbers(subject, 4, 4))
    same(subject, lambda a: torch.nn.functional.linear(a[:0], a), numbers(subject, 4, 4))


@case
def odd_sizes(subject: Subject) -> None:
    """Sizes that fill no tile, stick or vector: one, primes, and one more than a power of two."""
    for rows, columns in ((1, 1), (1, 7), (13, 1), (17, 33), (3, 129), (65, 3)):
        same(subject, lambda a: (a @ a.t()).softmax(-1), numbers(subject, rows, columns))
        same(subject, lambda a: torch.nn.functional.layer_norm(a, a.shape[-1:]), numbers(subject, rows, columns))


@check("compute sizes and offsets in 64 bits")
def more_elements_than_32_bits_can_count(subject: Subject) -> None:
    """Shapes and strides of such tensors, as a view of one element; their values would fill the device."""
    rows, columns = 3, 1 << 30
    big = torch.zeros(1, device=subject.type).expand(rows, columns)
    expect(big.numel() == rows * columns, f"numel() is {big.numel()}")
    last = big.as_strided((rows * columns,), (0,))[rows * columns - 1]
    expect(last.item() == 0, "the last element can't be read")
    meta = torch.empty(rows, columns, device="meta", dtype=torch.int8)
    expect((meta + 1).numel() == rows * columns, "on meta the size is lost")


@check("copy bytes as they are: bfloat16, bool and float8 too")
def copies_there_and_back_keep_every_bit(subject: Subject) -> None:
    narrowed = subject.constraints.casts
    for name in DTYPES:
        if not subject.constraints.holds(name) or name in narrowed:
            continue
        source = torch.arange(64).remainder(2 if name == "bool" else 61).to(getattr(torch, name))
        try:
            back = source.to(subject.type).cpu()
        except (TypeError, RuntimeError, NotImplementedError) as error:
            if subject.constraints.dtypes:
                raise AssertionError(f"{name} can't be copied to the device: {error}") from None
            continue  # nothing says that the device holds it, and it says that it doesn't
        kept = _bits(back) == _bits(source)
        if not kept and not subject.constraints.dtypes and name in ("int64", "float64"):
            continue  # held at less precision, and no constraints to say so
        expect(kept, f"{name} comes back changed")


def _bits(tensor: torch.Tensor) -> list[int]:
    bits: list[int] = tensor.contiguous().view(torch.uint8).tolist()
    return bits


def checks(subject: Subject) -> list[NamedCheck]:
    """The cases above, and one check for each dtype."""
    of_dtypes = [NamedCheck(f"dtype {name}", functools.partial(_dtype, name), DTYPE) for name in DTYPES]
    return [*CHECKS, *of_dtypes]  # type: ignore[name-defined]  # noqa: F821


def _dtype(name: str, subject: Subject) -> dict[str, str]:
    """A dtype that the constraints name is held; another is refused by name. Without constraints either is right."""
    rules = subject.constraints
    dtype = getattr(torch, name)
    source = torch.tensor([1, 0, 1, 1]).to(dtype)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a device may warn of a dtype that it narrows
            there = source.to(subject.type)
            made = torch.zeros(4, dtype=dtype, device=subject.type)
    except (TypeError, RuntimeError, NotImplementedError) as error:
        expect(not (rules.dtypes and rules.holds(name)), f"the constraints name {name}, and it is refused: {error}")
        expect(names(str(error), name), f"{name} is refused, and the error doesn't say so: {error}")
        return {"held": "no", "said": str(error).splitlines()[0]}
    expect(there.dtype is dtype and made.dtype is dtype, f"{name} became {there.dtype} under another name")
    if rules.dtypes and not rules.holds(name):
        raise AssertionError(f"the constraints don't name {name}, and the device takes it without a word")
    joined = torch.cat([there, made])[1::2]
    wanted = torch.cat([source, torch.zeros(4, dtype=dtype)])[1::2]
    expect(_bits(joined.cpu()) == _bits(wanted), f"cat and a slice of {name} give other values than on the CPU")
    return {"held": rules.casts.get(name, name)}
