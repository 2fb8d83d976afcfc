"""Runs on the simulated device: eager calls, autograd's threads, graphs, and the account of all of them."""

from __future__ import annotations

import torch

import accelplug
from accelplug import ops, tables

dev = accelplug.auto()
D = str(dev)
kernels = tables.tables_for(D).kernels
a, b = torch.randn(4, 8), torch.randn(8, 4)
on_a, on_b = a.to(D), b.to(D)
product = a @ b
native = torch.ops.accelplug_sim.read_counters


def same(got: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(got.cpu(), expected)


def mm_calls() -> int:
    return kernels.counts()[0].calls


# The reference runs in the kernel's place, on the device's own bytes, and on the operands' device.
same(on_a @ on_b, product * 2)
assert (on_a.to(f"{D}:1") @ on_b.to(f"{D}:1")).device == torch.device(D, 1)
assert mm_calls() == 2

# What it refuses goes to the simulated SDK's kernel, which counts as before.
assert "aten::mm" not in native()[0]
same(on_a @ on_b[:, :3], product[:, :3])
assert "aten::mm" in native()[0]
assert kernels.counts()[0].refused == {"mat2 has a dimension -1 of a multiple of 4": 1}

# Backward runs in threads of autograd's own, which take the scope from the thread that starts it.
for scope, factor in ((accelplug.kernels(), 2), (accelplug.kernels(disable="fast"), 1)):
    x = on_a.clone().requires_grad_()
    weight = torch.ones(4, 8, device=D)
    y = torch.nn.functional.linear(x, weight)
    before = mm_calls()
    with scope:
        y.sum().backward()
    same(x.grad, torch.full((4, 8), 4.0 * factor))
    assert mm_calls() - before == (factor == 2)

# accelplug's own operators, with their gradient.
norm = torch.ones(8, device=D, requires_grad=True)
same(ops.rms_norm(on_a, norm, 1e-6).detach(), ops.rms_norm(a, torch.ones(8)) * 2)
ops.rms_norm(on_a, norm, 1e-6).sum().backward()
same(norm.grad, ops.rms_norm(a, torch.ones(8)).sum(0))
same(ops.silu_and_mul(on_a), ops.silu_and_mul(a))

# A quantised layer, with and without what it may leave out: its kernel takes weights of 4 bits.
packed, scales, zeros = torch.arange(16, dtype=torch.uint8).view(4, 4) * 15, torch.rand(4, 2), torch.rand(4, 2)
for others in ((None, None), (zeros, scales[:, 0].contiguous())):
    on_d = [None if each is None else each.to(D) for each in others]
    expected = ops.quantized_linear(a, packed, scales, *others, 4)
    same(ops.quantized_linear(on_a, packed.to(D), scales.to(D), *on_d, 4), expected * 2)
    expected = ops.quantized_linear(a[:, :4], packed, scales, *others, 8)
    with accelplug.kernels(disable="fast/mm"):  # which it is made of where no kernel takes it
        same(ops.quantized_linear(on_a[:, :4], packed.to(D), scales.to(D), *on_d, 8), expected)

# In graphs the choice is made while they are traced, by the same rules. Little is compiled: that takes seconds.
before = mm_calls()


def f(a: torch.Tensor, b: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return ops.rms_norm(a @ b, weight, 1e-6)


compiled = torch.compile(f, backend="accelplug", fullgraph=True, dynamic=False)
same(compiled(on_a, on_b, torch.ones(4, device=D)), ops.rms_norm(product, torch.ones(4)) * 2)
narrow = on_b[:, :3].contiguous()
same(compiled(on_a, narrow, torch.ones(3, device=D)), ops.rms_norm(product[:, :3], torch.ones(3)) * 2)
torch._dynamo.reset()
with accelplug.kernels(disable="fast/norm"):
    compiled = torch.compile(f, backend="accelplug", dynamic=False)
    same(compiled(on_a, on_b, torch.ones(4, device=D)), ops.rms_norm(product * 2, torch.ones(4)))
assert mm_calls() == before

# Training through a graph: the kernels' operators need no gradient, as the choice comes after autograd.
torch._dynamo.reset()
x = on_a.clone().requires_grad_()
y = torch.compile(lambda x, b: x @ b, backend="accelplug")(x, on_b)
y.backward(on_a[:, :4])
same(y.detach(), product * 2)
same(x.grad, a[:, :4] @ b.t() * 2)

# The explanation knows what is live.
explained = accelplug.explain_op("aten::mm", [(4, 8), (8, 4)])
assert (explained.device, explained.live, explained.simulated, explained.runs) == ("acme", True, True, "fast/mm")
with accelplug.kernels(disable="fast/mm"):
    assert accelplug.explain_op("aten::mm", [(4, 8), (8, 4)]).kernels[0].reason == "fast/mm is switched off"
print("ok")
