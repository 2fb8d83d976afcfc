"""Every field of a profile changes what the device does."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Write = Callable[[str], str]

SAID = """
import warnings
def said(function):
    try:
        return function()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
"""

DTYPES = (
    SAID
    + """
warnings.simplefilter("always")
print(said(lambda: torch.ones(2, dtype=torch.float64, device=D)))
print(said(lambda: torch.ones(2, device=D).to(torch.complex64)))
with warnings.catch_warnings(record=True) as caught:
    big = torch.tensor([1, 2**40 + 7]).to(D)
    print(big.dtype, big.tolist(), torch.ones(2, dtype=torch.int64, device=D).sum().item())
print(len(caught), caught[0].message if caught else "silent")
print(repr(torch.ones(2, device=D, requires_grad=True) * 2))
print(getattr(torch, D).get_amp_supported_dtype())
supported = torch.accelerator.get_device_capability()["supported_dtypes"]
print([dtype in supported for dtype in (torch.float16, torch.int64, torch.float64, torch.complex64, torch.qint8)])
"""
)


def test_spyre_refuses_float64_and_holds_int64_in_32_bits_with_one_warning(simulated: Run) -> None:
    refused, no_complex, big, warned, printed, amp, capability = simulated("spyre", DTYPES).stdout.splitlines()
    assert refused.startswith("TypeError: spyre (simulated) has no float64; it has bool, int8")
    assert no_complex.startswith("TypeError: spyre (simulated) has no complex64")
    assert big == "torch.int64 [1, 7] 2"
    assert warned.startswith("1 spyre (simulated) holds int64 as int32")
    assert printed == "tensor([2., 2.], device='spyre:0', grad_fn=<MulBackward0>)"
    assert amp == "[torch.float16, torch.bfloat16]"
    assert capability == "[True, True, False, False, False]"


NARROWED = """
import warnings
warnings.simplefilter("error")
third = torch.tensor([1 / 3], dtype=torch.float64)
held = third.to(D)
print(held.dtype, held.item() == third.float().item(), (held * held).item() == third.item() ** 2)
wide = torch.tensor([[2**31, 5], [1, 2]]).to(D)
print(wide.t().clone().tolist(), (wide.t() + wide.t()).tolist())
wide.t().add_(2**31)
print(wide.tolist())
"""


def test_neuron_holds_64_bit_values_in_32_bits_without_a_word(simulated: Run) -> None:
    third, wide, written = simulated("neuron", NARROWED).stdout.splitlines()
    assert third == "torch.float64 True False"
    assert wide == "[[-2147483648, 1], [5, 2]] [[0, 2], [10, 4]]"
    assert written == "[[0, -2147483643], [-2147483647, -2147483646]]"


LIMITS = (
    SAID
    + """
print(getattr(torch, D).device_count(), dev.selection["mychip"].title)
held = torch.empty(1, device=D)
print(torch.accelerator.memory_allocated(), torch.accelerator.get_memory_info(), torch.mychip.mem_get_info())
print(said(lambda: torch.empty(300, device=D)))
other = torch.empty(128, device=f"{D}:1")
print(torch.accelerator.memory_allocated(), torch.accelerator.memory_allocated(1))
print(said(lambda: torch.ones(200, device=f"{D}:1").sum()))
"""
)


def test_memory_is_limited_and_taken_in_multiples_of_the_alignment(simulated: Run, profile: Write) -> None:
    text = 'name = "mychip"\ntitle = "My chip"\ndevices = 2\nmemory_bytes = 1024\nalignment_bytes = 128\n'

    what, used, refused, each, second = simulated(profile(text), LIMITS).stdout.splitlines()

    assert what == "2 My chip"
    assert used == "128 (896, 1024) (896, 1024)"
    assert refused.startswith("OutOfMemoryError: mychip:0 (simulated) is out of memory: 1280 bytes wanted, 128 in use")
    assert "gives it 1024 memory_bytes" in refused
    assert each == "128 512"
    assert second.startswith("OutOfMemoryError: mychip:1 (simulated)")


COUNTED = (
    SAID
    + """
x = torch.ones(4, 4, device=D)
ops = torch.ops.accelplug_sim
ops.reset_counters()
ops.measure_time(True)
for _ in range(3):
    x @ x
torch.nn.functional.conv2d(torch.ones(1, 1, 4, 4, device=D), torch.ones(1, 1, 2, 2, device=D))
x.cpu()
names, values = ops.read_counters()
by_name = {name: values[6 * i : 6 * i + 6] for i, name in enumerate(names)}
print(by_name["aten::mm"][:5], by_name["aten::mm"][5] > 0)
print(by_name["aten::fill_.Scalar"][:4], by_name["aten::convolution_overrideable"][:4])
print(ops.read_transfers())
ops.forbid_fallback(True)
print((x @ x).shape, said(lambda: x.cos()))
"""
)


def test_what_the_vendor_runs_is_native_and_the_rest_is_counted_as_fallback(simulated: Run, profile: Write) -> None:
    text = 'name = "mychip"\nnative = ["aten::m*", "aten::f*"]\nnot_native = ["aten::fill_*"]\n'

    mm, others, transfers, forbidden = simulated(profile(text), COUNTED).stdout.splitlines()

    assert mm == f"[0, 0, 1, 3, {3 * 3 * 16 * 4}] True"
    assert others == "[0, 0, 0, 2] [0, 0, 0, 1]"
    assert transfers == "[0, 0, 1, 64, 0, 0]"
    assert forbidden.startswith(
        "torch.Size([4, 4]) FallbackRefusedError: mychip:0 (simulated): policy 'error' forbids aten::cos"
    )


FAULTS = (
    SAID
    + """
print(said(lambda: torch.empty(4, device=D).shape), said(lambda: torch.empty(4, device=D).shape))
x = torch.zeros(4, device=D)
print((x + 1).tolist(), (x * 1).tolist())
print(*[said(lambda: (x - 1).shape) for _ in range(2)], sep="\\n")
"""
)


def test_faults_come_when_the_profile_says(simulated: Run, profile: Write) -> None:
    # calls: empty makes none; zeros 1 (zero_), add 2, copy 3, mul 4, copy 5, sub 6
    faults = "lost_at_call = 6\nout_of_memory_at_allocation = 2\nwrong_answer_in = ['aten::mul.*']\n"

    allocations, answers, lost, again = simulated(
        profile(f'name = "mychip"\n[faults]\n{faults}'), FAULTS
    ).stdout.splitlines()

    assert re.match(r"torch.Size\(\[4\]\) OutOfMemoryError: .*a fault that the profile asks for", allocations)
    assert answers == "[1.0, 1.0, 1.0, 1.0] [1.0, 0.0, 0.0, 0.0]"
    assert lost == again
    assert lost.startswith("AcceleratorError: mychip:0 (simulated) is lost: its profile says so from call 6 on")


LOST = (
    SAID
    + """
import pathlib
first, second = (torch.zeros(4, device=f"{D}:{n}") for n in (0, 1))
file = pathlib.Path("gone-3")
file.touch()
print(said(lambda: (first + 1).tolist()), said(lambda: second + 1))
file.unlink()
print(said(lambda: (first + 1).tolist()), said(lambda: second.tolist()))
"""
)


def test_a_device_is_lost_for_good_once_the_file_of_its_number_in_the_machine_is_there(
    simulated: Run, profile: Write
) -> None:
    text = 'base = "spyre"\ndevices = 4\n[faults]\nlost_with_file = "gone-{n}"\n'
    while_there, afterwards = simulated(profile(text), LOST, SPYRE_DEVICES="1,3").stdout.splitlines()
    answer = "[1.0, 1.0, 1.0, 1.0] AcceleratorError: spyre:1 (simulated) is lost: its profile says so once gone-3 is"
    assert while_there.startswith(answer)
    assert afterwards.startswith(answer)


def test_a_probe_that_hangs_has_the_verdict_timeout(monkeypatch: pytest.MonkeyPatch, profile: Write) -> None:
    import accelplug

    monkeypatch.setenv("ACCELPLUG_SIMULATE", profile('base = "spyre"\n[faults]\nprobe_seconds = 2\n'))
    monkeypatch.setenv("ACCELPLUG_PROBE_TIMEOUT", "0.2")
    selection = accelplug.devices()
    assert (selection["spyre"].verdict, selection.chosen) == ("timeout", None)


COSTS = """
import time
def seconds(function):
    started = time.perf_counter()
    function()
    return time.perf_counter() - started
x, host = torch.ones(4, device=D), torch.ones(25000)
print(seconds(lambda: x + 1) >= 0.005, seconds(lambda: host.to(D)) >= 0.01)
"""


def test_launches_and_transfers_cost_what_the_profile_says(simulated: Run, profile: Write) -> None:
    text = 'name = "mychip"\nlaunch_us = 5000\ntransfer_bytes_per_second = 1e7\n'
    assert simulated(profile(text), COSTS).stdout == "True True\n"
