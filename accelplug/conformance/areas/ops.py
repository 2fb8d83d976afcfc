"""Each operator that PyTorch has samples of gives on the device what it gives on the CPU, forward and backward.

The data of each check says who ran it: ``native`` (the device), ``fallback`` (some of it the CPU, which is allowed and
counted), ``right`` (nobody counts), ``refused`` (a dtype that the device doesn't hold), ``none`` (no gradient).
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch

from accelplug.conformance import counting
from accelplug.conformance.checks import NamedCheck, Skip
from accelplug.conformance.comparing import dtype_of
from accelplug.conformance.dtypes import names_a_dtype
from accelplug.conformance.opinfo import Comparison, Refused, operators, samples
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


def _check(op: Any, counts: FallbackSource | None, subject: Subject) -> dict[str, Any]:
    dtype = dtype_of(subject)
    comparison = Comparison(subject.type, lambda error: names_a_dtype(subject, error))
    given = samples(op, dtype)
    data: dict[str, Any] = {"dtype": str(dtype).removeprefix("torch.")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data["forward"] = _way(comparison.forward, op, given, counts, data)
        trains = op.supports_autograd and not subject.cannot(Feature.training)
        data["backward"] = _way(comparison.backward, op, given, counts, data, "backward: ") if trains else "none"
    if data["forward"] == "refused":
        raise Skip(f"refused: {data['said']}")
    return data


def _way(
    compare: Callable[..., int],
    op: Any,
    given: list[Any],
    counts: FallbackSource | None,
    data: dict[str, Any],
    prefix: str = "",
) -> str:
    """How the operator came by its right results. Raises AssertionError where they aren't."""
    fell_back: set[str] = set()
    counted = True

    def run(compute: Callable[[], Any]) -> Any:
        nonlocal counted
        fallbacks = counting.start(counts)
        result = compute()
        found = fallbacks()
        counted = counted and found is not None
        fell_back.update(found or ())
        return result

    try:
        compared = compare(op, given, run)
    except Refused as refused:
        data.setdefault("said", str(refused))
        return "refused"
    except AssertionError as error:
        raise AssertionError(f"{prefix}{error}") from None
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        raise RuntimeError(f"{prefix}{type(error).__name__}: {error}") from error
    if not compared:
        return "none"
    if fell_back:
        data["fell_back"] = sorted({*data.get("fell_back", ()), *fell_back})
    return ("fallback" if fell_back else "native") if counted else "right"
