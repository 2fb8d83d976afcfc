"""The device's compiler as vLLM takes one: asked for each piece of a model and each size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.fx import GraphModule
from vllm.compilation.compiler_interface import CompilerInterface
from vllm.config.utils import Range

from accelplug.errors import ShapeRefusedError
from accelplug_vllm.native import graphs


class DeviceCompiler(CompilerInterface):  # type: ignore[misc]
    """Compiles nothing when it is asked, but when what it returns first runs: so warm-up decides what and when.

    vLLM keeps nothing of it over restarts. torch's own cache does, by the device's tables too.
    """

    name = "accelplug"

    def compile(
        self,
        graph: GraphModule,
        example_inputs: list[Any],
        compiler_config: dict[str, Any],
        compile_range: Range,
        key: str | None = None,
    ) -> tuple[Callable[..., Any], None]:
        """As CompilerInterface says: what runs the graph, and no handle."""
        if compile_range.is_single_size():
            return graphs.Piece(graphs.current(), graph), None
        return _refuse, None


def _refuse(*args: Any) -> Any:
    """For sizes that are no bucket: vLLM wants something for them. Steps are padded, so it is not meant to run."""
    sizes = ", ".join(str(arg) for arg in args if isinstance(arg, int))
    raise ShapeRefusedError(f"a step of {sizes} tokens was not padded to a bucket, and only buckets are compiled")
