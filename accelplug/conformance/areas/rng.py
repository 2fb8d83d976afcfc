"""Random numbers follow a seed, and a state can be kept and set."""

from __future__ import annotations

from collections.abc import Callable

import torch

from accelplug.conformance.checks import check, expect
from accelplug.conformance.subject import Subject

GENERATOR = "register a generator for the device; its state has to hold all that the next numbers depend on"


def _draw(subject: Subject, generator: torch.Generator | None = None) -> list[float]:
    return torch.rand(64, device=subject.type, generator=generator).cpu().tolist()  # type: ignore[no-any-return]


@check(GENERATOR)
def a_seed_gives_the_same_numbers_and_another_gives_others(subject: Subject) -> None:
    drawn = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        drawn.append(_draw(subject))
    expect(drawn[0] == drawn[1], "torch.manual_seed(3) gives other numbers the second time")
    expect(drawn[0] != drawn[2], "torch.manual_seed(4) gives the numbers of torch.manual_seed(3)")
    expect(drawn[0] != _draw(subject), "the same numbers come again and again")


@check(GENERATOR)
def a_state_that_is_set_again_gives_the_same_numbers(subject: Subject) -> None:
    module = torch.random if subject.type == "cpu" else torch.get_device_module(subject.type)
    state = module.get_rng_state()
    first = _draw(subject)
    module.set_rng_state(state)
    expect(_draw(subject) == first, "the state was set, the numbers are others")


@check("let fork_rng find the device: device_count(), get_rng_state(index) and set_rng_state(state, index)")
def fork_rng_leaves_the_numbers_outside_as_they_were(subject: Subject) -> None:
    torch.manual_seed(5)
    wanted = [_draw(subject), _draw(subject)]
    torch.manual_seed(5)
    got = [_draw(subject)]
    devices = [] if subject.type == "cpu" else [0]
    kind = {} if subject.type == "cpu" else {"device_type": subject.type}
    with torch.random.fork_rng(devices=devices, **kind):
        torch.manual_seed(99)
        _draw(subject)
    got.append(_draw(subject))
    expect(got == wanted, "numbers drawn inside fork_rng() change those outside")


@check("make torch.Generator(device=…) through the device's hooks")
def a_generator_of_ones_own_is_independent(subject: Subject) -> None:
    torch.manual_seed(1)
    wanted = _draw(subject)
    own = torch.Generator(device=subject.type).manual_seed(7)
    torch.manual_seed(1)
    first = _draw(subject, own)
    expect(_draw(subject) == wanted, "a generator of one's own changes the default one")
    expect(_draw(subject, own.manual_seed(7)) == first, "the same seed gives other numbers")
    twin = torch.Generator(device=subject.type)
    twin.set_state(own.get_state())
    expect(_draw(subject, twin) == _draw(subject, own), "a generator with the same state gives other numbers")


@check("keep a generator for each device")
def each_device_has_a_generator(subject: Subject) -> None:
    for index in range(subject.candidate.count if subject.type != "cpu" else 1):
        device = torch.device(subject.type, index) if subject.type != "cpu" else torch.device("cpu")
        generator = torch.Generator(device=device)
        expect(generator.device.type == subject.type, f"a generator for {device} is on {generator.device}")
        drawn = torch.rand(8, device=device, generator=generator)
        expect(drawn.device.type == subject.type, f"numbers for {device} are on {drawn.device}")


DISTRIBUTIONS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], float, float]] = {
    "rand": (torch.rand_like, 0.5, 1 / 12),
    "randn": (torch.randn_like, 0.0, 1.0),
    "exponential_": (lambda x: x.exponential_(), 1.0, 1.0),
    "bernoulli_": (lambda x: x.bernoulli_(0.25), 0.25, 0.1875),
    "dropout": (lambda x: torch.nn.functional.dropout(torch.ones_like(x), 0.5), 1.0, 1.0),
}


@check("compare the kernel's stream of numbers with its distribution: mean and variance are off")
def distributions_have_their_mean_and_variance(subject: Subject) -> None:
    """Within five standard errors, of 40,000 numbers."""
    torch.manual_seed(0)
    for name, (draw, mean, variance) in DISTRIBUTIONS.items():
        drawn = draw(torch.empty(40_000, device=subject.type)).cpu().double()
        off = abs(drawn.mean().item() - mean) / (variance / drawn.numel()) ** 0.5
        expect(off < 5, f"{name}: the mean is {drawn.mean().item():.4f}, not {mean:.4f}")
        expect(abs(drawn.var().item() / variance - 1) < 0.1, f"{name}: the variance is {drawn.var().item():.4f}")
