"""vLLM takes the device for its platform, and what it asks a platform before it starts has good answers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from accelplug.conformance.checks import Skip, check, expect
from accelplug.conformance.programs import Program, beside
from accelplug.conformance.subject import Subject
from accelplug.specs import Feature
from accelplug_vllm.conformance import here

REMEDY = "`accelplug doctor` says which platform vLLM gets here, and who else claims it"
CHILD = "from vllm.platforms import current_platform; print(f'platform={current_platform.device_type}')"

# Options for EngineArgs that ask for what a backend may say it can't do.
ASKING: dict[Feature, dict[str, Any]] = {
    Feature.lora: {"enable_lora": True},
    Feature.sleep: {"enable_sleep_mode": True},
    Feature.tensor_parallel: {"tensor_parallel_size": 2},
    Feature.pipeline_parallel: {"pipeline_parallel_size": 2},
}


@check(REMEDY)
def vllm_takes_the_device_for_its_platform(subject: Subject) -> dict[str, Any]:
    platform = here.platform(subject)
    expect(platform.device_type == subject.type, f"it takes {platform.device_type!r}, not {subject.type!r}")
    return {"platform": f"{type(platform).__module__}.{type(platform).__qualname__}"}


@check("a backend's hooks and probe must answer the same each time")
def asking_again_gives_the_same_platform(subject: Subject) -> None:
    here.platform(subject)
    from vllm.platforms import resolve_current_platform_cls_qualname as resolve

    first, second = resolve(), resolve()
    expect(first == second, f"first {first}, then {second}")


@check(REMEDY, limit=180)
def a_process_of_its_own_gets_it_too(subject: Subject) -> None:
    said = Program(CHILD, ACCELPLUG_DEVICE=beside(subject)).output(limit=120)
    expect(f"platform={subject.type}" in said, f"it got {said.strip().splitlines()[-1:]}")


@check("take dtypes out of Constraints that the device doesn't hold, or put in those that it does")
def the_dtypes_for_models_are_those_of_the_device(subject: Subject) -> dict[str, Any]:
    names = [str(dtype).removeprefix("torch.") for dtype in here.platform(subject).supported_dtypes]
    expect(bool(names), "vLLM could give a model no dtype")
    wrong = [name for name in names if not subject.constraints.holds(name)]
    expect(not wrong, f"vLLM may choose {', '.join(wrong)}, which the device doesn't hold")
    return {"dtypes": names}


@check("DeviceSpec.load has to bring torch.accelerator's functions for memory", quick=False)
def memory_is_counted_as_a_worker_counts_it(subject: Subject) -> dict[str, Any]:
    platform = here.platform(subject)
    if platform.device_type == "cpu":
        raise Skip("the host's memory is counted by other means")
    import torch
    from vllm.utils.mem_utils import MemorySnapshot

    seen = MemorySnapshot(device=torch.device(platform.device_type, 0))
    expect(0 < seen.free_memory <= seen.total_memory, f"{seen.free_memory} of {seen.total_memory} bytes are free")
    return {"bytes": seen.total_memory}


@check("a vendor's own parts come from the hooks accelplug_platform and accelplug_attention; check their paths")
def the_parts_that_a_worker_is_made_of_are_there(subject: Subject) -> dict[str, Any]:
    platform = here.platform(subject)
    from vllm.config import set_current_vllm_config
    from vllm.v1.attention.selector import get_attn_backend

    config = here.configuration(subject.name, here.dtype_name(subject))
    with set_current_vllm_config(config):
        attention = get_attn_backend(64, config.model_config.dtype, "auto")
        communicator = platform.get_device_communicator_cls()
    named = {"worker": config.parallel_config.worker_cls, "communicator": communicator}
    for what, path in named.items():
        expect(isinstance(_there(what, path), type), f"{what}: {path!r} is no class")
    scheduler = config.scheduler_config.get_scheduler_cls()
    return {**named, "attention": attention.get_name(), "scheduler": scheduler.__name__}


@check("the refusal comes from Capabilities.cannot; the reason there is what people read")
def what_the_device_can_not_do_is_refused_with_its_reason(subject: Subject) -> dict[str, Any]:
    asked = {feature: options for feature, options in ASKING.items() if subject.cannot(feature)}
    if not here.platform(subject).is_out_of_tree():
        raise Skip("vLLM's own platform for the device decides")
    if not asked:
        raise Skip("Capabilities.cannot names nothing that an option of vLLM's asks for")
    for feature, options in asked.items():
        said = _refusal(lambda options=options: _configure(subject, options))  # type: ignore[misc]
        expect(bool(said), f"{options} was accepted, and the backend says of {feature}: {subject.cannot(feature)}")
        expect(subject.cannot(feature) in said, f"the refusal of {options} gives another reason: {said}")
    return {"refused": [str(feature) for feature in asked]}


def _configure(subject: Subject, options: dict[str, Any]) -> None:
    from vllm.engine.arg_utils import EngineArgs

    EngineArgs(**here.small(here.dtype_name(subject)) | options).create_engine_config()


def _refusal(action: Callable[[], None]) -> str:
    """What the refusal said, "" where there was none. A platform refuses by SystemExit or an error."""
    try:
        action()
    except (Exception, SystemExit) as error:
        return " ".join(f"{type(error).__name__}: {error}".split())
    return ""


def _there(what: str, path: str) -> object:
    module, _, name = path.rpartition(".")
    expect(bool(module), f"{what}: {path!r} is no path of a class")
    found: object = getattr(import_module(module), name, None)
    return found
