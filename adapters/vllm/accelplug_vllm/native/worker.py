"""vLLM's own worker, with what it does for CUDA only done for the device that is live in this process."""

from __future__ import annotations

import contextlib
import gc
import logging
from typing import Any

import torch
from vllm.config import CompilationMode
from vllm.platforms import current_platform
from vllm.platforms.interface import set_assigned_physical_gpu_ids
from vllm.utils.mem_utils import MemorySnapshot
from vllm.utils.torch_utils import set_random_seed
from vllm.v1.worker import gpu_worker
from vllm.v1.worker.utils import request_memory

from accelplug.buckets import Ladder, WarmupPlan, warmup
from accelplug_vllm import handoff
from accelplug_vllm.native import counting, device, experts, grammar, graphs, memory, options, padding, shapes, streams

log = logging.getLogger("vllm.accelplug")


class NativeWorker(gpu_worker.Worker):  # type: ignore[misc]
    """Overrides what `accelplug_vllm.compat` lists for the worker, and nothing else."""

    def init_device(self) -> None:
        """As upstream's, which refuses every device but cuda. See compat: "worker.init_device"."""
        here = device.current()
        self.device = torch.device(here.torch_type, self._index(here))
        torch.accelerator.set_device_index(self.device)
        current_platform.check_if_supports_dtype(self.model_config.dtype)
        gpu_worker.init_worker_distributed_environment(
            self.vllm_config,
            self.rank,
            self.distributed_init_method,
            self.local_rank,
            current_platform.dist_backend,
        )
        set_random_seed(self.model_config.seed)
        gc.collect()
        torch.accelerator.empty_cache()
        self.init_snapshot = MemorySnapshot(device=self.device)
        self.requested_memory = request_memory(self.init_snapshot, self.cache_config)
        if here.simulated and not self.cache_config.kv_cache_memory_bytes:
            utilization = self.cache_config.gpu_memory_utilization
            workers = self.parallel_config.local_world_size
            self.requested_memory = memory.granted(self.requested_memory, utilization, workers)
        streams.install(here.torch_type)
        experts.register()
        grammar.install()
        self._shapes = shapes.of(self.vllm_config, here)
        self._init_workspace_and_model_runner()
        if self._shapes is not None:
            padding.pad_steps(self.model_runner, self._shapes)
            left = handoff.left()
            if left is not None and left.counts and self.rank == 0:  # the others run the same steps
                counting.tell(left.counts)

    def load_model(self, **given: Any) -> None:
        """As upstream's. Logits are not part of what vLLM compiles and pads; here they are padded too."""
        super().load_model(**given)
        if self._shapes is not None:
            padding.pad_logits(self.model_runner.model, self._shapes)

    def execute_model(self, scheduler_output: Any) -> Any:
        """As upstream's, and counted."""
        tokens = scheduler_output.total_num_scheduled_tokens
        if self._shapes is not None and tokens:
            size = self._shapes.tokens.choose(tokens)
            counting.MODEL.hit(str(size), tokens, size)
        return super().execute_model(scheduler_output)

    def _index(self, here: device.NativeDevice) -> int:
        """The n-th worker takes the n-th device that PyTorch sees, or of those that vLLM gave this replica."""
        index = int(self.local_rank)
        ids = self.parallel_config.assigned_physical_gpu_ids
        if ids is not None:
            set_assigned_physical_gpu_ids(ids)
            index = int(current_platform.logical_device_id_to_visible_device_id(index))
        count = torch.accelerator.device_count()
        if index >= count:
            raise RuntimeError(
                f"worker {self.rank} wants {here.torch_type}:{index}, but there are {count} devices; lower "
                f"--tensor-parallel-size (or pipeline, data parallel), or make more visible"
                + (f" ({here.spec.visible_devices})" if here.spec.visible_devices else "")
            )
        return index

    def _maybe_get_memory_pool_context(self, tag: str) -> contextlib.AbstractContextManager[None]:
        """No pool: upstream asks for its sleep-mode allocator. See compat: "worker.memory_pool"."""
        return contextlib.nullcontext()

    def compile_or_warm_up_model(self) -> Any:
        """Compiles the sizes there are, and nothing from then on.

        Without warming up kernels of CUDA's, which upstream imports. See compat: "worker.kernel_warmup".
        """
        compilation = self.vllm_config.compilation_config
        if self._shapes is not None and compilation.mode == CompilationMode.VLLM_COMPILE:
            self._compile(self._shapes.tokens)
        with (
            _replaced(gpu_worker, "kernel_warmup", lambda *args, **kwargs: None),
            _replaced(compilation, "compile_sizes", []),
        ):
            return super().compile_or_warm_up_model()

    def _compile(self, tokens: Ladder) -> None:
        """All sizes but the largest: vLLM has run that one, to see how much memory it takes."""
        said, made = options.read(self.vllm_config.additional_config), graphs.current()
        if not made.seconds:
            log.warning("accelplug: vLLM compiles nothing of this model; it runs op by op")
            return

        def run(tokens: int) -> None:
            self.model_runner._dummy_run(tokens, skip_eplb=True, remove_lora=False)

        left = [size for size in tokens.sizes if size not in made.seconds]
        if said.warm_up and left:
            warmup.run(WarmupPlan.of_sizes("tokens", left, max(made.seconds.values())), run)
        made.warmed_up(tokens, said.after_warm_up)


@contextlib.contextmanager
def _replaced(module: Any, name: str, value: object) -> Any:
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)
