"""Layers, gradients and optimizers on a simulated device, each case against the CPU. device_basics.py runs it."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from eager_case import DEVICE, A, B, case, neuron_only, numbers, same, same_gradients
from torch import nn
from torch.nn import functional as F  # noqa: N812


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
def inference_mode_computes_and_writes() -> None:
    with torch.inference_mode():
        result = A.to(DEVICE) @ B.to(DEVICE) + 1
        result[0] = 1
    assert result.is_inference()
    assert torch.equal(result.cpu(), torch.cat([torch.ones(1, 8), (A @ B + 1)[1:]]))


@case
def a_grad_scaler_scales_on_the_device() -> None:
    same(lambda x: torch.amp.GradScaler(x.device.type, init_scale=4.0).scale(x), A)


@neuron_only
def a_grad_scaler_leaves_out_a_step_that_overflows() -> None:
    weight = torch.ones(2, device=DEVICE, requires_grad=True)
    optimizer, scaler = torch.optim.SGD([weight], lr=0.5), torch.amp.GradScaler(DEVICE, init_scale=4.0)
    for gradient, expected in ((1.0, 0.5), (torch.inf, 0.5)):
        scaled = scaler.scale((weight * gradient).sum())
        scaled.backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        assert weight.tolist() == [expected] * 2
    assert scaler.get_scale() == 2.0
