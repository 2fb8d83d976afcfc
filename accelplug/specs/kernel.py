"""A vendor's kernel for one operator, and a declarative account of the calls it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from accelplug.specs.device import RanOn
from accelplug.specs.record import Record
from accelplug.specs.word import Word

Scalar = bool | int | float | str | None
NAMESPACE = "accelplug_kernels"  # of PyTorch's operators: each kernel is one, which graphs show and tables call


class Level(Word):
    """How much of a kernel is left to the device's compiler.

    compiler
        All of it: the kernel is made of PyTorch operators, which the device's compiler fuses.
    tile
        It says what is loaded, computed and stored, tile by tile; engines and transfers are the compiler's.
    isa
        It says which engine runs each instruction and how memory is moved.
    """

    compiler = "compiler"
    tile = "tile"
    isa = "isa"


class TensorRule(Record):
    """What one tensor argument of a call must be. What is left empty allows everything.

    dtypes
        Names of dtypes: ``("float32", "bfloat16")``.
    ranks
        Numbers of dimensions: ``(2,)``.
    multiples, at_least, at_most
        Dimension to number of elements; negative dimensions count from the end: ``multiples={-1: 128}``.
    contiguous
        The elements lie in row-major order without gaps.
    zero_offset
        The tensor starts where its memory does.
    """

    dtypes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    multiples: dict[int, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    at_least: dict[int, int] = Field(default_factory=dict)
    at_most: dict[int, int] = Field(default_factory=dict)
    contiguous: bool = False
    zero_offset: bool = False


class Kernel(Record):
    """One kernel of one operator.

    op
        The operator it stands for, with its overload where that has a name: ``"aten::mm"``, ``"aten::add.Tensor"``,
        ``"accelplug::rms_norm"``. Its arguments are the kernel's.
    provider
        Who brings it: ``"nki"``. Providers are what people order and switch off.
    name
        Its name among the provider's: ``"mm_tiled"``.
    level
        How much of it is left to the compiler.
    load
        Returns the function, which takes and returns tensors of the device; imports what that needs. Called when the
        kernel is first wanted. Raises ImportError where the SDK isn't there: the kernel is then left out, with that
        reason. The function may raise NotImplementedError for a call that it turns out not to take; the next provider
        then tries. Any other exception is the caller's to see. It gets all of the operator's arguments. An operator
        overload of the vendor's own (``torch.ops.acme.mm.default``) will do too: one in C++ is called without Python.
    reference
        The same result from PyTorch operators. Tests and ``accelplug conform`` compare with it; on a simulated device
        it runs in the kernel's place.
    accepts
        Argument name to what that tensor must be; ``"*"`` holds for every tensor argument.
    values
        Argument name to the values that an argument which isn't a tensor may have.
    refuses
        For what `accepts` and `values` can't say: gets the call's arguments, returns the reason not to take them, or
        None. It is Python and costs microseconds a call.
    fake
        The result without data, for tracing. None: the reference, on tensors without data.
    priority
        Higher is tried first; equal ones by provider and name.
    tolerance
        How far from the reference is still right: absolute and relative, by dtype name; torch.testing's where left out.
    ran_on
        The best that the kernel has been run on. Shown wherever it is.
    """

    op: Annotated[str, Field(pattern=r"^\w+::\w+(\.\w+)?$")]
    provider: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    level: Level
    load: Callable[[], Callable[..., Any]]
    reference: Callable[..., Any]
    accepts: dict[str, TensorRule] = Field(default_factory=dict)
    values: dict[str, tuple[Scalar, ...]] = Field(default_factory=dict)
    refuses: Callable[..., str | None] | None = None
    fake: Callable[..., Any] | None = None
    priority: int = 0
    tolerance: dict[str, tuple[float, float]] = Field(default_factory=dict)
    ran_on: RanOn = RanOn.nothing

    def __str__(self) -> str:
        return f"{self.provider}/{self.name}"


class KernelCount(Record):
    """What became of the calls that reached one kernel of a device.

    calls
        How many it has run.
    refused
        How many it was not given, by the clause that the call did not meet.
    passed_on
        How many it left to the next one by itself: its `refuses` gave a reason, or it raised NotImplementedError.
    said
        The reasons it gave for that, and how often; of a kernel in C++ the exception's name.
    unavailable
        Why it isn't there, "" where it is or nobody has wanted it yet.
    """

    op: str
    kernel: str
    calls: int
    refused: dict[str, int] = Field(default_factory=dict)
    passed_on: int = 0
    said: dict[str, int] = Field(default_factory=dict)
    unavailable: str = ""
