"""What Spyre asks of tensors. From public sources of torch-spyre and spyre-inference; not yet run on hardware."""

from __future__ import annotations

from accelplug.specs import Constraints

STICK_BYTES = 128  # the unit of a card's memory: 64 fp16 or 32 int32 elements
STICK = 64  # elements of a stick in fp16, which models run in


def constraints() -> Constraints:
    """The rules.

    * dtypes and the cast: torch-spyre, ``csrc/types_mapping.h``. int64 is held as int32; there is no float64. A bool
      is stored in two bytes, so a stick holds 64; counted as one byte, sizes come out a multiple of what is needed.
      uint8 isn't in that table, but ``torch.load`` moves raw bytes as uint8.
    * float16: spyre-inference (August 2026) runs models in nothing else. The hardware computes in a format of its own
      with 9 mantissa bits, in which integers above 1024 aren't exact.
    * clone_offset: compiled graphs begin at the start of an input's memory, wherever the tensor does (torch-spyre#3770,
      #3578, #2803).
    * 64 for heads and blocks: spyre-inference's attention takes no other multiples.
    * Six dimensions: torch-spyre#464, #2993.
    * Buckets: powers of two of a KV block's tokens, up to the model length at which spyre-inference stops.
    """
    return Constraints(
        dtypes=(
            *("bool", "uint8", "int8", "int16", "int32", "float16", "bfloat16", "float32"),
            *("float8_e4m3fn", "float8_e5m2fnuz"),
        ),
        casts={"int64": "int32"},
        preferred_dtype="float16",
        alignment_bytes=STICK_BYTES,
        clone_offset=True,
        head_multiple=STICK,
        block_multiple=STICK,
        static_shapes=True,
        buckets=(64, 128, 256, 512, 1024, 2048),
    )
