"""What a device can't do, and why: read by the doctor, and before a model is served."""

from __future__ import annotations

from pydantic import Field

from accelplug.specs.record import Record
from accelplug.specs.word import Word


class Feature(Word):
    """What a device may be unable to do. The names are those of vLLM's features where it has them."""

    training = "training"
    eager = "eager"
    dynamic_shapes = "dynamic_shapes"
    eager_collectives = "eager_collectives"
    tensor_parallel = "tensor_parallel"
    pipeline_parallel = "pipeline_parallel"
    data_parallel = "data_parallel"
    expert_parallel = "expert_parallel"
    lora = "lora"
    quantization = "quantization"
    pooling = "pooling"
    multimodal = "multimodal"
    encoder_decoder = "encoder_decoder"
    mixture_of_experts = "mixture_of_experts"
    mla = "mla"
    sliding_window = "sliding_window"
    speculative_decoding = "speculative_decoding"
    structured_output = "structured_output"
    prefix_caching = "prefix_caching"
    chunked_prefill = "chunked_prefill"
    sleep = "sleep"


class Capabilities(Record):
    """What one device can't do. Whatever isn't named it can.

    cannot
        Feature to the reason, as a person should read it: "torch-spyre compiles for one card".
    quantization
        The quantisation methods that work, by vLLM's names, where `Feature.quantization` isn't in `cannot`; None: those
        that there are kernels for.
    collectives
        The collectives that the device's distributed backend has; None: all of PyTorch's.
    """

    cannot: dict[Feature, str] = Field(default_factory=dict)
    quantization: tuple[str, ...] | None = None
    collectives: tuple[str, ...] | None = None
