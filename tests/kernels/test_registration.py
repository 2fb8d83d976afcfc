"""Records of kernels that could not work are refused when the device is made live, with the kernel's name."""

from __future__ import annotations

import pytest
import torch
from backend_site import Site
from kernel_backend import live

from accelplug.errors import BackendError


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ("kernel(op='aten::mmm')", r"kernel acme/one: unknown operator 'aten::mmm'; did you mean 'aten::mm'"),
        ("kernel(op='aten::norm')", r"aten::norm has no overload without a name; it has: aten::norm.Scalar"),
        ("kernel(op='aten::add.Tensr')", r"aten::add has no overload Tensr"),
        ("kernel(op='aten::relu_', reference=torch.relu_)", "aten::relu_ writes to its arguments or returns a view"),
        ("kernel(op='aten::t', reference=torch.t)", "aten::t writes to its arguments or returns a view"),
        ("kernel(op='aten::equal', reference=torch.equal)", "aten::equal must return tensors, and nothing else"),
        ("kernel(op='aten::matmul', reference=torch.matmul)", "PyTorch always takes aten::matmul apart"),
        ("kernel(reference=lambda x: x)", r"its reference doesn't take the arguments of kernel_tests::put"),
        ("kernel(fake=lambda: None)", r"its fake doesn't take the arguments"),
        ("kernel(refuses=lambda x, y, n: None)", r"its refuses doesn't take the arguments"),
        ("kernel(), kernel()", r"brings two kernels acme/one of kernel_tests::put: the one at .*:\d+ and the one at"),
        ("kernel(), 'two'", r"hook accelplug_kernels of backend acme .* returned 'two'"),
        ("kernel(level='tiles')", "hook accelplug_kernels of backend acme .* failed: ValidationError"),
    ],
)
def test_what_could_not_work_is_refused(site: Site, kernels: str, message: str) -> None:
    with pytest.raises(BackendError, match=message):
        live(site, kernels)


def test_a_refused_record_leaves_no_operator_behind(site: Site) -> None:
    with pytest.raises(BackendError):
        live(site, "kernel(), kernel(op='aten::mmm')")
    assert not hasattr(torch.ops.accelplug_kernels, "acme__acme__one")


def test_one_name_may_be_that_of_kernels_of_several_operators(site: Site) -> None:
    live(site, "kernel(), kernel(op='aten::hardswish', reference=torch.relu)")
    assert torch.ops.accelplug_kernels.acme__acme__one.overloads() == ["kernel_tests_put", "aten_hardswish"]


def test_a_function_that_does_not_take_the_arguments_is_refused_when_it_is_loaded(site: Site) -> None:
    live(site, "kernel(load=loads(lambda x: x))")
    with pytest.raises(BackendError, match="kernel acme/one: its function doesn't take the arguments of kernel_tests"):
        torch.ops.kernel_tests.put(torch.zeros(1))
