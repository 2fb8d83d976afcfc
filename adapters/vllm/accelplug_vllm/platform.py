"""The delegate platforms: vLLM's own class for a device in its tree, with additions and nothing on its hot path.

``accelplug_vllm.platform.cpu`` (cuda, rocm, xpu) is the class; it is made when vLLM asks for it, because a vLLM build
has only some of the bases.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from accelplug.errors import AccelplugError
from accelplug_vllm import compat, cpu_defaults, device_flag, executors, metrics, refusal, report, resolution
from accelplug_vllm.builds import IN_TREE

if TYPE_CHECKING:
    from vllm.config import VllmConfig
    from vllm.utils.argparse_utils import FlexibleArgumentParser


def __getattr__(name: str) -> type:
    if name not in IN_TREE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return delegate(name)


@functools.cache
def delegate(name: str) -> type:
    """vLLM's platform class for ``name``, subclassed; its ``_enum`` and every other attribute stay vLLM's."""
    base = in_tree(name)

    class AccelplugPlatform(base):  # type: ignore[misc, valid-type]
        @classmethod
        def pre_register_and_update(cls, parser: FlexibleArgumentParser | None = None) -> None:
            super().pre_register_and_update(parser)
            if parser is not None:
                device_flag.add_to(parser)

        @classmethod
        def check_and_update_config(cls, vllm_config: VllmConfig) -> None:
            decision = resolution.decide()
            compat.settle(compat.EVERYWHERE)
            before = vllm_config.parallel_config.distributed_executor_backend
            super().check_and_update_config(vllm_config)
            applied: list[str] = []
            if name == "cpu":
                applied = cpu_defaults.apply(vllm_config, before)
                _check_executor(cls, vllm_config)
            metrics.publish_profiler(vllm_config)
            report.at_start(decision, applied, _apply_options(vllm_config, name))

    AccelplugPlatform.__name__ = AccelplugPlatform.__qualname__ = f"Accelplug{base.__name__}"
    return AccelplugPlatform


def _check_executor(platform: Any, vllm_config: VllmConfig) -> None:
    """Ray's workers are accelplug's on the CPU too: vLLM's ask Ray for the ids of accelerators."""
    spec = resolution.chosen().spec
    platform.ray_device_key = spec.ray_resource
    try:
        executors.check(vllm_config.parallel_config, spec)
    except AccelplugError as error:
        refusal.stop(error)


def _apply_options(vllm_config: VllmConfig, name: str) -> list[str]:
    """What ``--additional-config`` says to accelplug: sizes are for static shapes, layers may be on a device."""
    from accelplug_vllm.layers import host
    from accelplug_vllm.native import options

    try:
        title = resolution.chosen().spec.title
        options.refuse_sizes(options.read(vllm_config.additional_config), f"{title} takes any shape")
        return host.apply(vllm_config, name)
    except AccelplugError as error:
        refusal.stop(error)


def in_tree(name: str) -> Any:
    """The platform class that vLLM itself would take for ``name`` on this machine.

    Raises AccelplugError where it would take none.
    """
    from vllm.platforms import builtin_platform_plugins
    from vllm.utils.import_utils import resolve_obj_by_qualname

    qualname = builtin_platform_plugins[name]()
    if qualname is None:
        raise AccelplugError(
            f"accelplug chose {name}, but vLLM finds no {name} platform on this machine; is it a build for {name}?"
        )
    return resolve_obj_by_qualname(qualname)
