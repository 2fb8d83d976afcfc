"""``--device`` for every vLLM command, and ``device=`` for ``EngineArgs`` and ``LLM``.

vLLM's argument classes have neither. They are wrapped once both exist in ``vllm.engine.arg_utils``: when vLLM loads
general plug-ins (in time for the command line), or right after one of the modules that bring ``LLM`` is imported.
"""

from __future__ import annotations

import argparse
import functools
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from accelplug.errors import AccelplugError
from accelplug.selection import AUTO
from accelplug_vllm import agreement, compat, request

ARGUMENTS = "vllm.engine.arg_utils"
TRIGGERS = frozenset({ARGUMENTS, "vllm.entrypoints.llm", "vllm.v1.engine.llm_engine", "vllm.v1.engine.async_llm"})
HELP = "accelplug: the device to run on: auto, a name (cuda, neuron, spyre, cpu, …), or names in order of preference."


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds ``--device`` to a parser that has none. An exact name wins over vLLM's ``--device-ids`` and the like."""
    if request.FLAG not in parser._option_string_actions:
        parser.add_argument(request.FLAG, default=AUTO, action=CheckDevice, metavar="DEVICE", help=HELP)


class CheckDevice(argparse.Action):
    """Checks the parsed value against the platform, which was chosen (from the same flag) before parsing."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        try:
            check(str(values), option_string or request.FLAG)
        except AccelplugError as error:
            parser.error(str(error))
        setattr(namespace, self.dest, values)


def check(device: str | None, asked_by: str) -> None:
    """Raises where ``device`` is not what vLLM's platform in this process is. "auto" and None agree with anything."""
    if device not in (None, AUTO):
        agreement.check(device, asked_by)


def install() -> None:
    """Sees to it that the argument classes get wrapped, whichever of vLLM's modules comes first."""
    if not any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterImport())


def patch_engine_args() -> None:
    """Wraps ``EngineArgs`` and ``AsyncEngineArgs``, once, if both exist by now."""
    module = sys.modules.get(ARGUMENTS)
    classes = [getattr(module, name, None) for name in ("EngineArgs", "AsyncEngineArgs")]
    if None in classes or hasattr(classes[0], "_accelplug_device") or not compat.works(compat.DEVICE_FLAG):
        return
    engine_args: Any = classes[0]
    engine_args._accelplug_device = True
    for cls in classes:
        cls.__init__ = _taking_device(cls.__init__)  # type: ignore[misc]
    engine_args.add_cli_args = staticmethod(_adding_device(engine_args.add_cli_args))


def _taking_device(init: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(init)
    def taking_device(self: Any, *args: Any, device: str | None = None, **kwargs: Any) -> None:
        check(device, "device=")
        init(self, *args, **kwargs)

    return taking_device


def _adding_device(add_cli_args: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(add_cli_args)
    def adding_device(parser: argparse.ArgumentParser, *args: Any, **kwargs: Any) -> Any:
        parser = add_cli_args(parser, *args, **kwargs)
        add_to(parser)
        return parser

    return adding_device


class _AfterImport(importlib.abc.MetaPathFinder):
    """Runs `patch_engine_args` after each of the trigger modules has been imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in TRIGGERS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            patch_engine_args()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
