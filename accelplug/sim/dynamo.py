"""The Dynamo backend that the stand-in for an SDK brings, without importing Dynamo."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib import metadata
from typing import Any

ANYWHERE = metadata.DistributionFinder.Context()
GROUP = "torch_dynamo_backends"
TARGET = "accelplug.compiling:inductor"  # named and not imported: it is above the simulator


def offer(name: str, site: str) -> None:
    """Makes Dynamo know the backend ``name``, which the packages in the folder ``site`` have as an entry point.

    Dynamo looks for entry points once: where that may have been already, the backend is registered as well.
    """
    sys.meta_path.append(_Installed(site))
    if "torch._dynamo" not in sys.modules:
        return
    from torch._dynamo.backends.registry import list_backends, register_backend

    if name not in list_backends(exclude_tags=()):
        register_backend(metadata.EntryPoint(name, TARGET, GROUP).load(), name=name)


class _Installed(metadata.DistributionFinder):
    """Packages that importlib.metadata finds in this process, and no child that inherits ``sys.path``."""

    def __init__(self, site: str) -> None:
        self.site = site

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> None:
        """There is nothing to import."""

    def find_distributions(self, context: Any = ANYWHERE) -> Iterable[metadata.Distribution]:
        if context.path is not sys.path:  # somebody looks at other folders
            return ()
        here = metadata.DistributionFinder.Context(name=context.name, path=[self.site])
        return metadata.MetadataPathFinder.find_distributions(here)
