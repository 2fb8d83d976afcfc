"""What ordinary PyTorch does on a simulated device, all cases in one process. Prints as JSON which failed, and how."""

from __future__ import annotations

import json
import traceback
import warnings
from collections.abc import Callable

import eager_devices  # noqa: F401
import eager_tensors  # noqa: F401
import eager_training  # noqa: F401
from eager_case import CASES, DEVICE, NEURON_ONLY


def main() -> None:
    import accelplug

    warnings.simplefilter("ignore")
    assert str(accelplug.auto()) == DEVICE
    cases = {name: function for name, function in CASES.items() if DEVICE == "neuron" or name not in NEURON_ONLY}
    failures = {name: said for name, function in cases.items() if (said := failure(function))}
    print(json.dumps(failures))


def failure(function: Callable[[], None]) -> str:
    """The traceback of a case that fails, "" of one that doesn't."""
    try:
        function()
    except BaseException:
        return traceback.format_exc()
    return ""


if __name__ == "__main__":
    main()
