"""vLLM's own worker, with what it does for CUDA only done for the device that is live in this process."""

from __future__ import annotations

import contextlib
import functools
import gc
import logging
from typing import Any

import torch
from vllm.config import CompilationMode
from vllm.platforms import current_platform
from vllm.utils.mem_utils import MemorySnapshot
from vllm.utils.torch_utils import set_random_seed
from vllm.v1.worker import gpu_worker
from vllm.v1.worker.utils import request_memory

from accelplug.buckets import Ladder, WarmupPlan, warmup
from accelplug.tables import fallback
from accelplug.tables.fallback_metrics import FallbackCollector
from accelplug_vllm import compat, placement, worker_metrics
from accelplug_vllm.compat import moved, replaced
from accelplug_vllm.native import (
    counting,
    device,
    experts,
    grammar,
    kernels,
    loss,
    memory,
    options,
    profiling,
    seeds,
    shapes,
)
from accelplug_vllm.native.attention import backend
from accelplug_vllm.stepping import CountsSteps

log = logging.getLogger("vllm.accelplug")


class NativeWorker(loss.WatchesDevice, CountsSteps, gpu_worker.Worker):  # type: ignore[misc]
    """Overrides what `accelplug_vllm.compat` lists for the worker, counts its steps, and gives the model its layers.

    What a part of the adapter takes from vLLM is imported where that part works, so that nothing else goes with it.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As upstream's, which refuses to profile on a device that it doesn't know. See compat: "worker.profiler"."""
        if compat.works(compat.PROFILER):
            profiling.allow(device.current().torch_type)
        super().__init__(*args, **kwargs)

    def init_device(self) -> None:
        """As upstream's, which refuses every device but cuda. See compat: "worker.init_device"."""
        here = device.current()
        self.device = torch.device(here.torch_type, self._index(here))
        torch.accelerator.set_device_index(self.device)
        current_platform.check_if_supports_dtype(self.model_config.dtype)
        self._join_the_others(here)
        set_random_seed(self.model_config.seed)
        self._request_memory(here)
        self._prepare(here)
        _publish_counts()
        self._shapes = shapes.of(self.vllm_config, here)
        self._start_runner()

    def _join_the_others(self, here: device.NativeDevice) -> None:
        """Also a worker that is alone: vLLM has its groups then too."""
        gpu_worker.init_worker_distributed_environment(
            self.vllm_config,
            self.rank,
            self.distributed_init_method,
            self.local_rank,
            current_platform.dist_backend,
        )
        if compat.works(compat.SEVERAL_WORKERS):
            from accelplug_vllm.native import groups

            groups.put_on(self.device)
            groups.check_all_reduce(here, self.device, self.model_config.dtype)

    def _request_memory(self, here: device.NativeDevice) -> None:
        """What vLLM may take of the device, by what is free before there is a model."""
        gc.collect()
        torch.accelerator.empty_cache()
        self.init_snapshot = MemorySnapshot(device=self.device)
        self.requested_memory = request_memory(self.init_snapshot, self.cache_config)
        if here.simulated and not self.cache_config.kv_cache_memory_bytes:
            utilization = self.cache_config.gpu_memory_utilization
            workers = self.parallel_config.local_world_size
            self.requested_memory = memory.granted(self.requested_memory, utilization, workers)

    def _prepare(self, here: device.NativeDevice) -> None:
        """What has to be in vLLM before there are a runner and a model."""
        self._layers: dict[str, tuple[str, ...]] = {}
        if compat.works(compat.ASYNC_SCHEDULING):
            from accelplug_vllm.native import streams

            streams.install(here.torch_type)
        if compat.works(compat.REPLACED_LAYERS):
            from accelplug_vllm.layers import replacing

            self._layers = replacing.replace(here.torch_type, here.layers(), f"hook accelplug_layers of {here.name}")
        if compat.works(compat.QUANTISED):
            from accelplug_vllm.layers import quantized

            quantized.register(
                tuple(here.parts(self.vllm_config).linear_kernels.items()), f"hook accelplug_platform of {here.name}"
            )
        kernels.register()  # vLLM before 0.31 asks nobody for them
        if compat.works(compat.MIXTURES):
            experts.register()
        if compat.works(compat.STRUCTURED_OUTPUT):
            grammar.install()

    def _start_runner(self) -> None:
        """Upstream's, packed and padded."""
        moved.start_runner(self)
        if compat.works(compat.PACKING):
            from accelplug_vllm.native import packing

            packing.install(self.model_runner)
        if compat.works(compat.SEEDS):
            seeds.install(self.model_runner)
        if self._shapes is not None:
            from accelplug_vllm.native import padding

            padding.pad_steps(self.model_runner, self._shapes)
            if self.rank == 0:  # the others run the same steps
                counting.publish()

    def load_model(self, **given: Any) -> None:
        """As upstream's; writes down what runs the model's layers.

        Logits are not part of what vLLM compiles and pads; on static shapes they are padded too.
        """
        super().load_model(**given)
        implementations = fallback.live().implementations
        implementations.update(backend.in_use(self.vllm_config.compilation_config.static_forward_context.values()))
        modules = list(self.model_runner.model.modules())
        if compat.works(compat.IR):
            from accelplug_vllm.layers import ir

            implementations.update(ir.chosen())
        if compat.works(compat.QUANTISED):
            from accelplug_vllm.layers import quantized

            implementations.update(quantized.in_use(self.device.type, modules))
        if self._layers:
            from accelplug_vllm.layers import replacing

            implementations.update(replacing.in_use(self._layers, modules))
        if self._shapes is not None:
            from accelplug_vllm.native import logits, padding

            model = self.model_runner.model
            compiled = logits.compiled(self.vllm_config, model, self._shapes.sequences)
            padding.pad_logits(model, self._shapes, compiled)
            self._logits_compiled = compiled is not None

    def execute_model(self, scheduler_output: Any) -> Any:
        """As upstream's, and counted."""
        tokens = scheduler_output.total_num_scheduled_tokens
        if self._shapes is not None and tokens:
            size = self._shapes.tokens.choose(tokens)
            counting.MODEL.hit(str(size), tokens, size)
        return super().execute_model(scheduler_output)

    def _index(self, here: device.NativeDevice) -> int:
        """Of this worker's device among those that it sees. One in EngineCore's process (``uni``) was told nothing."""
        told = placement.received()
        index = told.index if told else placement.device_of(self.parallel_config, int(self.local_rank))
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
            self._compile(self._shapes.tokens, self._shapes.sequences)
        with (
            replaced(gpu_worker, "kernel_warmup", lambda *args, **kwargs: None),
            replaced(compilation, "compile_sizes", []),
        ):
            return super().compile_or_warm_up_model()

    def _compile(self, tokens: Ladder, sequences: Ladder) -> None:
        """All sizes but the largest: vLLM has run that one, to see how much memory it takes."""
        from accelplug_vllm.native import graphs

        said, made = options.read(self.vllm_config.additional_config), graphs.current()
        if not made.seconds:
            log.warning("accelplug: vLLM compiles nothing of this model; it runs op by op")
            return

        def run(tokens: int) -> None:
            self.model_runner._dummy_run(tokens, skip_eplb=True, remove_lora=False)

        left = [size for size in tokens.sizes if size not in made.seconds]
        if said.warm_up and left:
            warmup.run(WarmupPlan.of_sizes("tokens", left, max(made.seconds.values())), run)
        if self._logits_compiled:
            from accelplug_vllm.native import logits

            model = self.vllm_config.model_config
            logits.warm_up(self.model_runner.model, sequences, model.get_hidden_size(), model.dtype, self.device)
        made.warmed_up(tokens, said.after_warm_up)


@functools.cache
def _publish_counts() -> None:
    """What ran on the device and what fell back, once for each process, however many workers it makes."""
    worker_metrics.add(FallbackCollector())
