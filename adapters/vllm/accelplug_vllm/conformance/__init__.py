"""What vLLM needs of a device, as areas of `accelplug conform`.

They come to it through the entry-point group ``accelplug.conformance_areas``. Models are made on the spot
(`accelplug_vllm.tiny`), so nothing is downloaded. Importing this package imports neither vLLM nor torch.
"""

from __future__ import annotations

from accelplug.conformance import Area


def areas() -> tuple[Area, ...]:
    """In the order in which a report has them."""
    return (
        _area("platform", "platform and configuration"),
        _area("worker", "worker start", "engine", "expected", slow=True),
        _area("attention", "attention against float64", "paged", "textbook"),
        _area("cache", "KV cache writes", "paged", "textbook"),
        _area("kernels", "IR and layers, native against device"),
        _area("shapes", "static shapes and warm-up", "engine", "expected", slow=True),
        _area("parallel", "tensor parallel", "engine", "expected", slow=True),
        _area("serving", "serving", "server", "expected", slow=True),
        _area("shutdown", "shutdown and restart", "server", "expected", slow=True),
    )


def _area(name: str, title: str, *also: str, slow: bool = False) -> Area:
    """``also`` are the modules of this folder that the checks rest on. None makes the device live before it begins:
    vLLM does that, in this process or in others."""
    return Area(
        f"vllm_{name}",
        f"vLLM: {title}",
        f"{__name__}.{name}",
        live=False,
        slow=slow,
        also=tuple(f"{__name__}.{module}" for module in (*also, "here")),
        needs="vllm",
    )
