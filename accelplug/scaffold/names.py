"""Which names a new backend may have."""

from __future__ import annotations

import functools
import keyword
import os
import re
import subprocess
import sys
from importlib.util import find_spec

from accelplug.entry_points import of_group
from accelplug.errors import AccelplugError
from accelplug.specs.device import ENTRY_POINTS

# Names that PyTorch's device types have (c10/core/DeviceType.cpp), and `auto`, which is a choice and no device.
TAKEN = frozenset(
    (
        *("cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga", "maia", "xla", "lazy", "vulkan"),
        *("metal", "xpu", "mps", "meta", "hpu", "ve", "ipu", "mtia", "privateuseone", "auto"),
    )
)

# A device's name becomes an attribute of each of these: torch.acme, tensor.acme(), module.acme().
IN_TORCH = (
    "import sys, torch; print([n for o, n in ((torch, 'torch'), (torch.Tensor, 'torch.Tensor'), "
    "(torch.nn.Module, 'torch.nn.Module')) if hasattr(o, sys.argv[1])][:1])"
)


@functools.cache
def complaint(name: str) -> str:
    """Why no new backend can be called that, with what it could be; "" where it can."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        near = re.sub(r"[^a-z0-9]+", "_", name.lower()).lstrip("_0123456789").rstrip("_") or "acme"
        return f"a name has lower-case letters, digits and _, and begins with a letter, such as {near!r}"
    if keyword.iskeyword(name):
        return f"Python has it as a keyword; such as '{name}_device'"
    installed = [entry_point.name for entry_point in of_group(ENTRY_POINTS)]
    if name in installed:
        return f"an installed backend has it; any other will do than {', '.join(installed)}"
    if name in TAKEN:
        return f"PyTorch or accelplug has it for something else; any other will do than {', '.join(sorted(TAKEN))}"
    if find_spec(f"accelplug_{name}") is not None:
        return f"an installed package is called accelplug_{name} already; take another name"
    owner = _in_torch(name) if find_spec("torch") else ""
    return f"{owner}.{name} is there already, and a device's name becomes one; such as '{name}_device'" if owner else ""


def _in_torch(name: str) -> str:
    """What of PyTorch's has an attribute of that name, "" if nothing. Asked without any SDK that torch would load."""
    command = [sys.executable, "-c", IN_TORCH, name]
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        raise AccelplugError(
            f"torch is installed but can't be imported: {' '.join(last)}; `accelplug doctor` says more"
        )
    return done.stdout.strip("[]'\n")
