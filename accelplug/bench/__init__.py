"""``accelplug bench``: how far each device is from its own limits, on the operators, layers and models of LLMs.

>>> bench = accelplug.bench.run(["cpu", "neuron"], "smollm2-135m", file=Path("bench.json"))

Each device works in a process of its own, and all take turns at each workload, so a slow minute of the machine hits
them alike. The limits are measured too: a large copy and a large matrix product. Importing this imports no torch.
"""

from accelplug.bench.records import Bench, DeviceBench, Measured, Roofline, Serving
from accelplug.bench.suite import run

__all__ = ["Bench", "DeviceBench", "Measured", "Roofline", "Serving", "run"]
