"""Gradients are those of the CPU, in first and second order, and a model trains to the CPU's weights."""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from accelplug.conformance.checks import Skip, check, expect
from accelplug.conformance.comparing import close, dtype_of, numbers, same_gradients
from accelplug.conformance.subject import Subject
from accelplug.specs.capabilities import Feature

COMPARE = "run the function's operators one by one with `accelplug conform NAME --area ops`: a backward one is wrong"


def trains(function: Callable[[Subject], Any]) -> Callable[[Subject], Any]:
    """Leaves out devices that don't train, with the backend's reason."""

    @functools.wraps(function)
    def checked(subject: Subject) -> Any:
        if reason := subject.cannot(Feature.training):
            raise Skip(reason)
        return function(subject)

    return checked


def _holds_float64(subject: Subject) -> bool:
    """Whether 64 bits are kept: some devices hold float64 as float32 under the same name."""
    third = torch.tensor([1 / 3], dtype=torch.float64)
    try:
        return bool(torch.equal(third.to(subject.type).cpu(), third))
    except (TypeError, RuntimeError):
        return False


@check(COMPARE)
@trains
def gradients_are_the_cpus(subject: Subject) -> None:
    a, b = numbers(subject, 8, 8), numbers(subject, 8, 8).cos()
    same_gradients(subject, lambda x, w: F.gelu(x @ w).softmax(-1) * 2 + (x[1:3] ** 2).mean(), a, b)
    same_gradients(subject, lambda q: F.scaled_dot_product_attention(q, q, q), numbers(subject, 1, 2, 8, 16))
    same_gradients(subject, lambda x, w: F.layer_norm(x, (8,), w), a, numbers(subject, 8))
    same_gradients(subject, lambda w: F.embedding(torch.tensor([1, 1, 2], device=w.device), w), a)
    image, kernel = numbers(subject, 2, 3, 8, 8), numbers(subject, 4, 3, 3, 3)
    same_gradients(subject, lambda x, w: F.conv2d(x, w, stride=2), image, kernel)


FUNCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "a product of matrices": lambda x, y: x @ y.t(),
    "softmax": lambda x, y: (x.softmax(-1) * y).sum(-1),
    "layer_norm": lambda x, y: F.layer_norm(x, (3,)) * y,
    "silu and mul": lambda x, y: F.silu(x) * y,
}


@check(COMPARE)
@trains
def gradcheck_agrees_with_numerical_derivatives(subject: Subject) -> dict[str, Any]:
    """In float64 where the device keeps 64 bits, else in float32 with a tolerance that fits its rounding."""
    exact = _holds_float64(subject)
    if not exact and not subject.constraints.holds("float32"):
        raise Skip("numerical derivatives need float32 at least")
    dtype = torch.float64 if exact else torch.float32
    tolerances = {"eps": 1e-6, "atol": 1e-5} if exact else {"eps": 1e-2, "atol": 2e-2, "rtol": 2e-2}
    x = torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3)
    inputs = [each.to(dtype).to(subject.type).requires_grad_() for each in (x, x.cos())]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gradcheck asks for float64
        for name, function in FUNCTIONS.items():
            agree = torch.autograd.gradcheck(function, inputs, nondet_tol=1e-5, raise_exception=False, **tolerances)
            expect(agree, f"the gradients of {name} are not its numerical derivatives")
    return {"dtype": str(dtype).removeprefix("torch.")}


@check(COMPARE)
@trains
def second_derivatives_are_the_cpus(subject: Subject) -> None:
    def curvature(x: torch.Tensor) -> torch.Tensor:
        (slope,) = torch.autograd.grad((x.tanh() * x.exp()).sum(), x, create_graph=True)
        return slope.square()

    same_gradients(subject, curvature, numbers(subject, 4, 4))


@check("let RNG state and autocast state be kept for the device: checkpoint() restores both")
@trains
def checkpointing_recomputes_the_same(subject: Subject) -> None:
    def block(x: torch.Tensor) -> torch.Tensor:
        return F.gelu(x @ x)

    kept = functools.partial(torch.utils.checkpoint.checkpoint, block, use_reentrant=False)
    same_gradients(subject, kept, numbers(subject, 8, 8))


def _train(model: nn.Module, x: torch.Tensor, make: Callable[..., torch.optim.Optimizer]) -> list[torch.Tensor]:
    optimizer = make(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "SGD with momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01, foreach=False),
    "AdamW foreach": lambda p: torch.optim.AdamW(p, lr=0.01, foreach=True),
}


@check("compare one step of the optimizer by hand; foreach needs the _foreach_ operators or their fallback")
@trains
def three_steps_of_training_give_the_cpus_weights(subject: Subject) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 8)).to(dtype_of(subject))
    x = numbers(subject, 4, 8)
    for name, make in OPTIMIZERS.items():
        wanted = _train(copy.deepcopy(model), x, make)
        got = _train(copy.deepcopy(model).to(subject.type), x.to(subject.type), make)
        try:
            close(got, wanted, subject)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


@check("register the device's autocast key, and say get_amp_supported_dtype() in its module")
def autocast_lowers_precision_where_cuda_does(subject: Subject) -> dict[str, Any]:
    module = torch.get_device_module(subject.type)
    offered = module.get_amp_supported_dtype() if hasattr(module, "get_amp_supported_dtype") else [torch.bfloat16]
    offered = [dtype for dtype in offered if dtype in (torch.bfloat16, torch.float16)]
    if not offered:
        raise Skip("the device's module offers no dtype for autocast")
    a = numbers(subject, 8, 8).to(subject.type)
    for dtype in offered:
        with torch.autocast(subject.type, dtype=dtype):
            product = (a @ a).dtype
        expect(product is dtype, f"inside autocast({dtype}) a product of matrices is {product}")
    return {"dtypes": [str(dtype).removeprefix("torch.") for dtype in offered]}


@check("no accumulation outside of autograd's rules: look at in-place kernels that don't bump the version counter")
@trains
def a_tensor_changed_after_it_was_saved_is_noticed(subject: Subject) -> None:
    x = numbers(subject, 4).to(subject.type).requires_grad_()
    y = x.exp()
    y.add_(1)
    try:
        y.sum().backward()
    except RuntimeError as error:
        expect("modified by an inplace operation" in str(error), f"another error: {error}")
    else:
        raise AssertionError("backward() used a tensor that was changed since")
