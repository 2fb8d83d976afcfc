"""Whether an error is about a dtype, and says so."""

from __future__ import annotations

import re

from accelplug.conformance.subject import Subject

NAMES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2"),
)
RARE = ("uint16", "uint32", "uint64", "complex32", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
SPELLINGS = {  # of PyTorch's own messages, beside the name
    "float16": ("half",),
    "float32": ("float",),
    "float64": ("double",),
    "int64": ("long",),
    "int32": ("int",),
    "int16": ("short",),
    "uint8": ("byte",),
    "int8": ("char",),
    "complex64": ("complexfloat",),
    "complex128": ("complexdouble",),
}


def names(message: str, dtype: str) -> bool:
    """Whether a message names the dtype, in Python's spelling or C++'s."""
    words = {word.lower().replace("_", "") for word in re.findall(r"\w+", message)}
    return not words.isdisjoint({dtype.replace("_", ""), *SPELLINGS.get(dtype, ())})


def names_a_dtype(subject: Subject, error: BaseException) -> bool:
    """Whether the error names a dtype that the constraints don't. Without constraints: a "TypeError" that names any."""
    rules = subject.constraints
    if not rules.dtypes:
        return isinstance(error, TypeError) and any(names(str(error), name) for name in NAMES)
    return any(names(str(error), name) for name in (*NAMES, *RARE) if not rules.holds(name))
