"""What Spyre can't do, as public sources of torch-spyre and spyre-inference (August 2026) have it."""

from __future__ import annotations

from accelplug.specs import Capabilities, Feature


def capabilities() -> Capabilities:
    """Each refusal with its reason. The collectives are those that torch-spyre's ``spyreccl`` has (its issues 1902,
    1903, 2438); all_reduce and reduce only sum, and only float16."""
    return Capabilities(
        cannot={
            Feature.dynamic_shapes: "torch-spyre compiles each shape by itself and rejects symbolic ones",
            Feature.pipeline_parallel: "no public run of it: spyre-inference passes missing layers over, untested",
            Feature.data_parallel: "spyre-inference refuses a data-parallel size above 1",
            Feature.expert_parallel: "spyre-inference of August 2026 has no mixture-of-experts layers",
            Feature.lora: "spyre-inference refuses LoRA adapters",
            Feature.quantization: "spyre-inference of August 2026 runs float16 weights only",
            Feature.multimodal: "spyre-inference of August 2026 has text models only",
            Feature.encoder_decoder: "there are attention kernels for decoders and encoders, none for cross attention",
            Feature.mla: "there is no kernel for multi-head latent attention",
            Feature.speculative_decoding: "spyre-inference refuses a draft model",
            Feature.sleep: "sleep and wake do nothing in spyre-inference",
        },
        collectives=("all_gather", "all_reduce", "broadcast", "gather", "reduce"),
    )
