"""A process with a live device ends with the code that it should, whatever it still holds."""

from __future__ import annotations

from accelplug.conformance.checks import Skip, check
from accelplug.conformance.programs import Program
from accelplug.conformance.subject import Subject
from accelplug.specs.capabilities import Feature

REMEDY = "free nothing in destructors of globals: the SDK's runtime may be gone; leave it to the operating system"

HOLDING = """
held = torch.randn(8, 8, device=D)
torch.held = [held, held.t(), torch.Generator(device=D)]
if torch.accelerator.is_available():
    torch.held += [torch.Stream(device=D), torch.Event(device=D)]
"""

AFTER_BACKWARD = """
held = torch.randn(8, 8, device=D, requires_grad=True)
held.pow(2).sum().backward()  # autograd's thread isn't done when this returns
torch.held = [held]
"""

AT_EXIT = """
import atexit
held = torch.ones(8, device=D)
atexit.register(lambda: (held + 1).sum().item())
if torch.accelerator.is_available():
    atexit.register(torch.accelerator.empty_cache)
    atexit.register(torch.accelerator.synchronize)
"""

RAISING = """
held = torch.ones(8, device=D)
raise SystemExit(3)
"""


def _ends(subject: Subject, code: str, wanted: int = 0) -> None:
    Program(code, live=subject.name).output(code=wanted)


@check(REMEDY)
def a_process_that_holds_tensors_streams_and_generators_ends_well(subject: Subject) -> None:
    _ends(subject, HOLDING)


@check(REMEDY)
def a_process_ends_well_after_a_backward_pass(subject: Subject) -> None:
    if reason := subject.cannot(Feature.training):
        raise Skip(reason)
    _ends(subject, AFTER_BACKWARD)


@check(REMEDY, quick=False)
def the_device_still_works_in_exit_handlers(subject: Subject) -> None:
    _ends(subject, AT_EXIT)


@check(REMEDY, quick=False)
def an_exit_code_of_ones_own_is_kept(subject: Subject) -> None:
    _ends(subject, RAISING, wanted=3)
