"""What is asked of each version: the features, the run that shows each, and how one tells that it was there."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from accelplug_vllm import compat
from accelplug_vllm.compat import Part

from tools.versions import runs
from tools.versions.fetching import PACE_VLLM, Version, installed, pace, wheel
from tools.versions.runs import RunError

DEVICE = "neuron"
RUNS, OFF, CRASHES, UNASKED = "runs", "off", "crashes", "-"
COMPILED = {"enforce_eager": False, "additional_config": {"accelplug": {"compile": True, "tokens": "16,64"}}}
DRAFTS = {"speculative_config": {"method": "ngram", "num_speculative_tokens": 2, "prompt_lookup_max": 3}}

Cell = dict[str, str]


class Came:
    """What came of a version's runs; each is started when somebody asks for it, and once."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self._outcomes: dict[str, dict[str, Any] | RunError] = {}

    def run(self, options: Mapping[str, Any], device: str = DEVICE) -> dict[str, Any]:
        """What `smoke` printed. Raises RunError where it didn't get so far."""
        key = f"{device} {json.dumps(options)}"
        if key not in self._outcomes:
            try:
                self._outcomes[key] = runs.smoke(self.version, options, device=device)
            except RunError as error:
                self._outcomes[key] = error
        outcome = self._outcomes[key]
        if isinstance(outcome, RunError):
            raise outcome
        return outcome

    @property
    def cpu(self) -> dict[str, Any]:
        """On vLLM's own platform for the CPU."""
        return self.run({}, "cpu")

    @property
    def native(self) -> dict[str, Any]:
        """In native mode, op by op."""
        return self.run({})

    @functools.cached_property
    def reference(self) -> Any:
        """The tokens on the CPU: the installed version's where this one can't run there."""
        return (self if self.version.kernels else came_of(wheel(installed()))).cpu["tokens"]


@functools.cache
def came_of(version: Version) -> Came:
    """The one for each version."""
    return Came(version)


@dataclass(frozen=True)
class Feature:
    """``shown(came)`` says what a version did where that is what it should have done; it raises RunError elsewhere.

    ``part`` is the part of the adapter that has to work for it.
    """

    name: str
    part: Part
    shown: Callable[[Came], None]
    on_the_cpu: bool = False  # it takes vLLM's kernels for it
    more: bool = False  # it takes a start of its own
    only: str = ""  # the version that it can be asked of


def cell(feature: Feature, came: Came, more: bool) -> Cell:
    """What the table says of a feature in one version. Without ``more`` some features are not asked of it."""
    if feature.more and not more:
        return {"state": UNASKED, "reason": ""}
    if feature.only not in ("", came.version.name) or (feature.on_the_cpu and not came.version.kernels):
        return {"state": UNASKED, "reason": ""}
    off = next(filter(None, (part.missing(came.version.source) for part in _needed(feature))), "")
    try:
        feature.shown(came)
    except RunError as error:
        return {"state": OFF, "reason": off} if off else {"state": CRASHES, "reason": str(error)}
    return {"state": RUNS, "reason": ""}


def _needed(feature: Feature) -> tuple[Part, ...]:
    return (feature.part, compat.NATIVE) if feature.part in compat.NATIVE_PARTS else (feature.part,)


def _expect(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise RunError(f"{what}: {found!r} instead of {expected!r}")


def _on_the_cpu(came: Came) -> None:
    said = came.cpu
    _expect("the platform", (said["platform"], said["device"]), ("AccelplugCpuPlatform", "cpu"))
    _expect("tokens of each prompt", [len(tokens) for tokens in said["tokens"]], [8, 8, 8])


def _native(came: Came) -> None:
    _expect("the device", came.native["device"], DEVICE)
    _same_tokens(came, came.native)


def _same_tokens(came: Came, said: Mapping[str, Any]) -> None:
    _expect("tokens", said["tokens"], came.reference)


def _ir(came: Came) -> None:
    _expect(
        "first for RMSNorm", came.native["implementations"].get("vllm.ir.rms_norm", ["none"])[0], "nki/rms_norm_isa"
    )


def _layers(came: Came) -> None:
    missing = {"SiluAndMul", "RotaryEmbedding"} - {*came.native["implementations"]}
    _expect("layers that were not replaced", missing, set())


def _slicing(came: Came) -> None:
    _expect("the scheduler", came.native["scheduler"] in ("SlicingScheduler", "AsyncSlicingScheduler"), True)


def _padding(came: Came) -> None:
    _expect("the dispatcher", came.native["dispatcher"], "BucketDispatcher")


def _compiled(came: Came) -> None:
    _expect("compilations in service", came.run(COMPILED)["compiles"][1], 0)
    _expect("whether graphs were compiled", came.run(COMPILED)["compiles"][0] > 0, True)
    _same_tokens(came, came.run(COMPILED))


def _drafted(came: Came) -> None:
    _same_tokens(came, came.run(DRAFTS))


def _metrics(came: Came) -> None:
    missing = {"accelplug_device_info", "accelplug_bucket_hits"} - {*came.native["metrics"]}
    _expect("metrics that are missing", missing, set())


def _doctor(came: Came) -> None:
    found = [f for f in runs.doctor(came.version)["findings"] if f["check"] == "vllm seams"]
    off = [part.name for part in compat.PARTS if part.missing(came.version.source)]
    _expect("parts that the doctor says are off", [f["summary"].partition(" is off")[0] for f in found[1:]], off)


def _served(came: Came) -> None:
    _expect("whether the server answered", bool(runs.served(came.version)), True)


def _beside_pace(came: Came) -> None:
    """It is for CPUs, so the CPU is left to it; for another device it is taken out."""
    _expect("the platform for the CPU", runs.platform(came.version, pace(), device="cpu"), "PacePlatform")
    _expect("that for a device", runs.platform(came.version, pace(), device=DEVICE), "AccelplugNativePlatform")


FEATURES = (
    Feature("delegate mode, on the CPU", compat.DELEGATE, _on_the_cpu, on_the_cpu=True),
    Feature("`vllm serve --device cpu`", compat.DEVICE_FLAG, _served, on_the_cpu=True, more=True),
    Feature("native mode, the CPU's tokens", compat.NATIVE, _native),
    Feature("kernels in vLLM's IR", compat.IR, _ir),
    Feature("replaced layers", compat.REPLACED_LAYERS, _layers),
    Feature("steps padded to buckets", compat.STATIC_SHAPES, _padding),
    Feature("prefills cut to buckets", compat.SLICING, _slicing),
    Feature("compiled for each bucket", compat.COMPILING, _compiled, more=True),
    Feature("n-gram drafts", compat.DRAFTS, _drafted, more=True),
    Feature("metrics", compat.NATIVE, _metrics),
    Feature("`accelplug doctor`", compat.DELEGATE, _doctor),
    Feature("beside pace-vllm", compat.ARBITRATION, _beside_pace, only=PACE_VLLM),
)
