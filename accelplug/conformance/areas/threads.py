"""Threads compute at the same time, forward and backward, and none gets another's results."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch

from accelplug.conformance.checks import Skip, check, expect
from accelplug.conformance.comparing import dtype_of, same_numbers
from accelplug.conformance.subject import Subject
from accelplug.specs.capabilities import Feature

THREADS, ROUNDS = 8, 30
REMEDY = "look for state that threads share: caches without a lock, a current device that isn't per thread"


def _all(work: Callable[[int], None]) -> None:
    """Runs it in all threads, and raises the first failure."""
    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(work, number) for number in range(THREADS)]:
            done.result()


def _input(subject: Subject, number: int) -> torch.Tensor:
    return (torch.arange(256.0).reshape(16, 16) / 256 + number / THREADS).to(dtype_of(subject))


def _step(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x @ x.t()).softmax(-1)


def _each_gets_the_cpus_numbers(subject: Subject, compute: Callable[[torch.Tensor], torch.Tensor]) -> None:
    def work(number: int) -> None:
        x = _input(subject, number)
        wanted = compute(x)
        for _ in range(ROUNDS):
            same_numbers(compute(x.to(subject.type)), wanted)

    _all(work)


@check(REMEDY)
def eight_threads_compute_forward(subject: Subject) -> None:
    _each_gets_the_cpus_numbers(subject, _step)


@check(REMEDY)
def eight_threads_compute_backward(subject: Subject) -> None:
    if reason := subject.cannot(Feature.training):
        raise Skip(reason)

    def gradient(x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        _step(x)[:, 0].sum().backward()
        assert x.grad is not None
        return x.grad

    _each_gets_the_cpus_numbers(subject, gradient)


@check("keep the current device per thread")
def each_thread_has_a_current_device_of_its_own(subject: Subject) -> None:
    if torch.accelerator.current_accelerator() != torch.device(subject.type):
        raise Skip(f"{subject.type} is no accelerator to PyTorch")
    count = torch.accelerator.device_count()

    def work(number: int) -> None:
        torch.accelerator.set_device_index(number % count)
        for _ in range(ROUNDS):
            made = torch.ones(4, device=subject.type) + 1
            expect(made.device.index == number % count, f"set to {number % count}, a tensor is on {made.device}")

    _all(work)
