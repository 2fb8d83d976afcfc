"""What becomes of vLLM's configuration on the device that is chosen here. Arguments: a model's folder, and a list of
options for ``EngineArgs`` as JSON, each with variables for its environment as ``environ``. Prints, for each, the error
or parts of the configuration."""

from __future__ import annotations

import json
import os
import sys
from unittest import mock


def main(model: str, cases: str) -> None:
    from vllm.config import set_current_vllm_config
    from vllm.engine.arg_utils import EngineArgs
    from vllm.platforms import current_platform
    from vllm.v1.attention.selector import get_attn_backend

    said: list[dict[str, object]] = []
    for options in json.loads(cases):
        given = {"model": model, "skip_tokenizer_init": True, "load_format": "dummy", "max_model_len": 64, **options}
        environ = given.pop("environ", {})
        try:
            with mock.patch.dict(os.environ, environ):
                config = EngineArgs(**given).create_engine_config()
        except Exception as error:
            said.append({"error": f"{type(error).__name__}: {error}"})
            continue
        with set_current_vllm_config(config):
            communicator = current_platform.get_device_communicator_cls()
            attention = get_attn_backend(32, config.model_config.dtype, "auto")
        said.append(
            {
                "device": str(config.device_config.device),
                "dtype": str(config.model_config.dtype),
                "worker": config.parallel_config.worker_cls,
                "prefix_caching": config.cache_config.enable_prefix_caching,
                "chunked_prefill": config.scheduler_config.enable_chunked_prefill,
                "tokens": config.scheduler_config.max_num_batched_tokens,
                "sequences": config.scheduler_config.max_num_seqs,
                "scheduler": config.scheduler_config.scheduler_cls,
                "mode": config.compilation_config.mode.name,
                "compile_sizes": config.compilation_config.compile_sizes,
                "communicator": communicator,
                "kv_layouts": [layout.name for layout in attention.supported_kv_cache_layouts()],
                "block_sizes": attention.get_supported_kernel_block_sizes(),
                "head_sizes": [size for size in range(16, 129, 16) if attention.supports_head_size(size)],
                "dtypes": [str(dtype) for dtype in current_platform.supported_dtypes],
            }
        )
    print(json.dumps(said, default=repr))  # vLLM's MultipleOf is no JSON


if __name__ == "__main__":
    main(*sys.argv[1:])
