"""What torch-neuronx says of operators that ran on the CPU.

Written against public sources, not yet run on hardware: there, ``torch_neuronx`` keeps the names of the operators that
were executed and of those that fell back, and counts neither calls nor bytes. It can't be told to refuse every
fallback: ``TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS=1`` makes an operator that fails to compile raise, and one
that isn't implemented falls back all the same.
"""

from __future__ import annotations

from accelplug.specs import FallbackSource, OpCount


def source() -> FallbackSource:
    """Reads and clears the SDK's own tracking. Raises RuntimeError where this release of the SDK has none."""
    import torch_neuronx

    for function in ("get_fallback_ops", "get_executed_ops", "clear_op_tracking"):
        if not hasattr(torch_neuronx, function):
            raise RuntimeError(
                f"torch_neuronx from {torch_neuronx.__file__} has no {function}(), which says what fell back; "
                "torch-neuronx 2.13 and later have it"
            )

    def read() -> list[OpCount]:
        fell = {str(name) for name in torch_neuronx.get_fallback_ops()}
        ran = {str(name) for name in torch_neuronx.get_executed_ops()} - fell
        return [OpCount(op=name, native=name in ran) for name in sorted(ran | fell)]

    def reset() -> None:
        torch_neuronx.clear_op_tracking()

    return FallbackSource(read=read, reset=reset)
