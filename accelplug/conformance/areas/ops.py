"""Each operator that PyTorch has samples of gives on the device what it gives on the CPU, forward and backward.

The data of each check says how that went: ``native`` (the device ran it), ``fallback`` (the CPU ran some of it, which
is allowed and counted), ``right`` (nobody counts), ``refused`` (for a dtype that the device doesn't hold), ``wrong``,
``error``, or ``none`` (the CPU has nothing to compare with, or there is no gradient).
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from accelplug.conformance import counting
from accelplug.conformance.checks import NamedCheck, Result, Skip
from accelplug.conformance.comparing import dtype_of
from accelplug.conformance.dtypes import names_a_dtype
from accelplug.conformance.opinfo import Comparison, Refused, operators, samples
from accelplug.conformance.records import Outcome
from accelplug.conformance.subject import Subject
from accelplug.specs import FallbackSource
from accelplug.specs.capabilities import Feature

REMEDY = "compare the operator's kernel with the CPU's on PyTorch's samples, or leave the operator to the fallback"
QUICK = 16  # a quick run has every sixteenth


def checks(subject: Subject) -> list[NamedCheck]:
    """One for each operator; one in all where PyTorch's samples can't be imported."""
    try:
        known = operators(dtype_of(subject))
    except Skip as skip:
        return [NamedCheck("PyTorch's samples", functools.partial(_left_out, str(skip)), "")]
    counts = counting.source(subject)
    return [
        NamedCheck(name, functools.partial(_check, op, counts), REMEDY, quick=number % QUICK == 0)
        for number, (name, op) in enumerate(known.items())
    ]


def _left_out(why: str, subject: Subject) -> None:
    raise Skip(why)


def _check(op: Any, counts: FallbackSource | None, subject: Subject) -> Result:
    dtype = dtype_of(subject)
    comparison = Comparison(subject.type, lambda error: names_a_dtype(subject, error))
    given = samples(op, dtype)
    ways = {"forward": comparison.forward}
    if op.supports_autograd and not subject.cannot(Feature.training):
        ways["backward"] = comparison.backward
    data: dict[str, Any] = {"dtype": str(dtype).removeprefix("torch."), "backward": "none"}
    said: list[str] = []
    fell_back: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for direction, compare in ways.items():
            data[direction], why = _way(compare, op, given, counts, fell_back)
            said += [f"{direction}: {why}"] if why else []
    if fell_back:
        data["fell_back"] = sorted(fell_back)
    outcome = _outcome(data)
    if outcome is Outcome.skipped and not said:
        said = ["the CPU computes none of PyTorch's samples"]
    return Result(outcome, "; ".join(said), data)


def _outcome(data: dict[str, Any]) -> Outcome:
    ways = {data["forward"], data["backward"]}
    if "error" in ways:
        return Outcome.error
    if "wrong" in ways:
        return Outcome.failed
    return Outcome.skipped if ways <= {"refused", "none"} else Outcome.passed


def _way(
    compare: Callable[..., int], op: Any, given: list[Any], counts: FallbackSource | None, fell_back: set[str]
) -> tuple[str, str]:
    """How one direction of the operator went, and what was said about it; adds to what fell back."""
    here: set[str] = set()

    def run(compute: Callable[[], Any]) -> Any:
        fallbacks = counting.start(counts)
        result = compute()
        here.update(fallbacks() or ())
        return result

    try:
        compared = compare(op, given, run)
    except Refused as refused:
        return "refused", f"refused: {refused}"
    except Skip as skip:
        return "none", str(skip)
    except AssertionError as error:
        return "wrong", str(error)
    except Exception as error:
        return "error", f"{type(error).__name__}: {error}"
    fell_back |= here
    if not compared:
        return "none", ""
    if counts is None:
        return "right", ""
    return ("fallback" if here else "native"), ""
