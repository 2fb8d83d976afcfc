"""A vLLM that lacks what parts of the adapter need: those are off with the reason, and the rest works."""

from __future__ import annotations

from pathlib import Path

import pytest
from accelplug_vllm import compat
from skewed_vllm import skewed

from tools.versions import fetching, runs

pytestmark = pytest.mark.e2e

# What is called otherwise, and the part that is then off.
ON_THE_CPU = {
    "AsyncEngineArgs": compat.DEVICE_FLAG,
    "RayWorkerProc": compat.RAY_EXECUTOR,
    "configure_omp_envs": compat.CPU_DEFAULTS,
    "torch_profiler_with_stack": compat.TRACE,
}
ON_A_DEVICE = {
    "CudagraphDispatcher": compat.STATIC_SHAPES,
    "GracefulHTTPError": compat.LAST_WORDS,
    "MLAAttentionImpl": compat.LATENT_ATTENTION,
    "register_linear_kernel": compat.QUANTISED,
    "_SUPPORTED_PROFILER_KINDS": compat.PROFILER,
    "_apply_shrink": compat.LORA,
    "_prepare_inputs": compat.PACKING,
    "apply_grammar_bitmask": compat.STRUCTURED_OUTPUT,
    "is_single_size": compat.COMPILING,
    "make_worker_process": compat.SEVERAL_WORKERS,
    "max_num_running_reqs": compat.SLICING,
    "register_impl": compat.IR,
    "rejection_greedy_sample_kernel": compat.DRAFTS,
    "vllm_topk_sigmoid": compat.MIXTURES,
    "_match_cos_sin_cache_dtype": compat.REPLACED_LAYERS,
}


def test_what_a_vllm_lacks_is_off_with_the_reason_and_the_tokens_are_the_same(tmp_path: Path) -> None:
    said = {}
    for device, renamed in (("cpu", ON_THE_CPU), ("neuron", ON_A_DEVICE)):
        version = fetching.Version(fetching.installed(), (skewed(tmp_path / device, renamed),), kernels=True)
        said[device] = runs.smoke(version, {}, device=device)
        off = said[device]["off"]
        assert {*off} == {part.name for part in renamed.values()}
        assert all(name in off[part.name] for name, part in renamed.items())
    assert said["neuron"]["device"] == "neuron"
    assert said["neuron"]["dispatcher"] == "CudagraphDispatcher_otherwise", "steps are not padded"
    assert said["neuron"]["tokens"] == said["cpu"]["tokens"]
