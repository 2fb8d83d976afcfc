"""Conformance of vLLM can fail: a vendor's attention with a fault on purpose is found, and by the right check."""

from __future__ import annotations

from pathlib import Path

import pytest
from backend_site import Site

from accelplug import conformance
from accelplug.conformance import Outcome
from accelplug.sim import build

PROFILE = """
name = "acme"
[machine.files]
"/dev/acme{n}" = ""
[sdk]
distribution = "torch-acme"
version = "1.0"
module = "torch_acme"
"""
BACKEND = """
from accelplug.hookspecs import hookimpl
from accelplug.specs import AttentionSpec, DeviceSpec, Probe

def probe(host):
    return Probe(verdict="usable", reason="there", count=1)

def load():
    import torch, torch_acme

@hookimpl
def accelplug_device():
    return DeviceSpec(name="acme", title="Acme One", torch_type="acme", probe=probe, load=load)

@hookimpl
def accelplug_attention(attn_type, config):
    return AttentionSpec(backend="acme_attention.AcmeAttention")
"""
# A slot of -1 is the last one to PyTorch, and a window is not looked at.
ATTENTION = """
from dataclasses import replace

import torch
from accelplug_vllm.native.attention.backend import PagedAttention, PagedAttentionLayer

class AcmeLayer(PagedAttentionLayer):
    def __init__(self, *args, **given):
        super().__init__(*args, **given)
        self.attention = replace(self.attention, window=None)

    def do_kv_cache_update(self, layer, key, value, kv_cache, slot_mapping):
        content = torch.cat((key, value), -1).to(kv_cache.dtype)
        size = kv_cache.shape[2]
        kv_cache[slot_mapping // size, :, slot_mapping % size] = content

class AcmeAttention(PagedAttention):
    @staticmethod
    def get_impl_cls():
        return AcmeLayer
"""


@pytest.fixture
def acme(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A third party's backend, over a simulated SDK, whose attention is its own."""
    build.library()
    (tmp_path / "acme.toml").write_text(PROFILE)
    monkeypatch.setenv("ACCELPLUG_SIMULATE", str(tmp_path / "acme.toml"))
    site.module("acme", BACKEND, distribution="acme-accelplug")
    (site.folder / "acme_attention.py").write_text(ATTENTION)


def test_a_mask_that_is_ignored_and_a_write_to_no_slot_are_found_and_the_rest_is_right(acme: None) -> None:
    only = ["answers beside prompts, float32", "a sliding window, float32", "a token whose slot*", "a write leaves*"]

    report = conformance.run("acme", areas=["vllm_attention", "vllm_cache"], only=only)

    found = {check.name: check for area in report.areas for check in area.checks}
    assert {check.name for check in report.wrong()} == {
        "a sliding window, float32",
        "a token whose slot is minus one is written nowhere",
    }
    assert found["answers beside prompts, float32"].outcome is Outcome.passed
    assert "not close" in found["a sliding window, float32"].why
    assert (
        "blocks [63] of 64 changed, which no token has a slot in"
        in found["a token whose slot is minus one is written nowhere"].why
    )


@pytest.mark.e2e
def test_an_engine_on_a_simulated_device_passes_the_area_of_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    build.library()
    monkeypatch.setenv("ACCELPLUG_SIMULATE", "neuron")
    report = conformance.run("neuron", areas=["vllm_worker"])
    assert report.ok, report.wrong()
    assert report["vllm_worker"].counts[Outcome.passed] == len(report["vllm_worker"].checks) == 5
