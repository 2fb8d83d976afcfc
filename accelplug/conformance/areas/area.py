"""What an area is: a module of checks, of this package or of another one."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

COMPARING = ("accelplug.conformance.comparing", "accelplug.conformance.dtypes")  # what counts as right, for every area


@dataclass(frozen=True)
class Area:
    """Checks that belong together. Naming one imports nothing of it.

    ``module`` is the module of its checks, which has them as `checks(subject)` or by the decorator `check`.
    ``live``: the device is made live before the first check; an area that looks at how that goes does it itself.
    ``shards``: into how many processes its checks may be split.
    ``slow``: it is started before the others, as what is left at the end is done one by one.
    ``also``: further modules that decide what its checks ask.
    ``needs``: a module of another project that it is about; where that is not installed, the area is skipped.
    """

    name: str
    title: str
    module: str
    live: bool = True
    shards: int = 1
    slow: bool = False
    also: tuple[str, ...] = ()
    needs: str = ""

    @functools.cached_property
    def version(self) -> str:
        """12 hexadecimal digits for the code of its checks."""
        modules = (self.module, *COMPARING, *self.also)
        return hashlib.sha256(b"".join(_source(module).read_bytes() for module in modules)).hexdigest()[:12]

    @property
    def missing(self) -> str:
        """Why it can't be examined in this environment; "" where it can."""
        return "" if not self.needs or find_spec(self.needs) else f"{self.needs} is not installed"


def _source(module: str) -> Path:
    """The file of a module, which is not imported (the packages around it are)."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"an area of conformance names the module {module}, which isn't there", name=module)
    return Path(spec.origin)
