"""What Neuron devices ask of tensors, and what they can't do.

From AWS's public documentation of SDK 2.32 and 2.33, and the public source of vllm-neuron; guesses are marked as such.
"""

from __future__ import annotations

from accelplug.specs import Capabilities, Constraints, Feature, Probe

# Complex and wider unsigned numbers are let through: torch-neuronx takes the former apart, and of the latter nothing is
# documented.
DTYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "float16", "bfloat16", "float32", "float8_e5m2"),
    *("complex32", "complex64", "complex128", "uint16", "uint32", "uint64"),
)

# OCP's e4m3 came with the NeuronCore-v4; Trainium2's own e4m3 ends at 240, which is no dtype of PyTorch's.
TRN3_DTYPES = (*DTYPES, "float8_e4m3fn", "float8_e8m0fnu")

VLLM_NEURON = "vllm-neuron 0.24 (SDK 2.33)"


def constraints(probe: Probe) -> Constraints:
    """The rules of the generation that was found; of an unknown one, those of Trainium2.

    64-bit numbers are held in 32 bits, without a word. No alignment and no multiple of a head's size is documented.
    """
    return Constraints(
        dtypes=TRN3_DTYPES if probe.details.get("generation") == "trn3" else DTYPES,
        casts={"int64": "int32", "float64": "float32"},
        block_multiple=32,  # a guess: vllm-neuron's default for a block of the KV cache
        static_shapes=True,
    )


def capabilities() -> Capabilities:
    """What the SDK and the vendor's vLLM plug-in leave out, each with where that is said.

    What they have in part isn't listed: speculative decoding (EAGLE3 and DFlash), structured output (where the server
    was compiled for it), pooling (embeddings).
    """
    return Capabilities(
        cannot={
            Feature.dynamic_shapes: "the Neuron compiler takes fixed shapes only (its error NCC_EMOD025), so "
            "torch.compile(dynamic=True) is refused",
            Feature.pipeline_parallel: f"{VLLM_NEURON} has none: the recipes of its models say so",
            Feature.lora: f"{VLLM_NEURON} has none: it is still to be done in its model runner",
            Feature.mla: f"none of the models of {VLLM_NEURON} has multi-head latent attention",
            Feature.encoder_decoder: f"none of the models of {VLLM_NEURON} has an encoder and a decoder of text",
        },
        # FP8. The MXFP4 of gpt-oss on Trainium3 is asked for in vllm-neuron's own configuration.
        quantization=("modelopt",),
    )
