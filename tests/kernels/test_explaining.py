"""``accelplug.explain_op`` and ``accelplug explain --op``: which kernel would run a call, and why the others not."""

from __future__ import annotations

import json

import jsonschema
import pytest
import torch
from backend_site import Site
from kernel_backend import OP, install, live
from typer.testing import CliRunner

import accelplug
from accelplug.cli import schema
from accelplug.cli.app import app
from accelplug.specs import Outcome

FIVE = """kernel('refusing', accepts={'x': TensorRule(ranks=(2,))}, priority=3),
kernel('missing', load=no_sdk, priority=2), kernel('first', 1, priority=1), kernel('second', 2), kernel('off', 3)"""


def test_each_kernel_is_explained_in_the_order_in_which_they_are_tried(site: Site) -> None:
    install(site, FIVE)
    with accelplug.kernels(disable="acme/off"):
        explained = accelplug.explain_op(OP, [(4,)], device="acme")

    assert [(each.kernel.partition("/")[2], str(each.outcome), each.reason) for each in explained.kernels] == [
        ("refusing", "refuses", "it takes calls where x has a number of dimensions of 2; got shape (4,)"),
        ("missing", "unavailable", "acme_sdk is not installed"),
        ("first", "runs", ""),
        ("second", "outranked", "acme/first comes before it"),
        ("off", "off", "acme/off is switched off"),
    ]
    assert (explained.runs, explained.live, explained.simulated) == ("acme/first", False, False)


def test_what_it_says_is_what_runs(site: Site) -> None:
    table = live(site, FIVE)
    explained = accelplug.explain_op(OP, [(4, 4)])
    torch.ops.kernel_tests.put(torch.zeros(4, 4))
    ran = [count.kernel for count in table.counts() if count.calls]
    assert (ran, explained.live) == ([explained.runs], True)


def test_asking_defines_and_counts_nothing(site: Site) -> None:
    install(site, "kernel(refuses=lambda x, y, *, n, mode, flag: 'never')")
    assert accelplug.explain_op(OP, [(4,)], device="acme").kernels[0].reason == "never"
    assert not hasattr(torch.ops.accelplug_kernels, "acme__acme__one")
    table = live(site, "kernel(refuses=lambda x, y, *, n, mode, flag: 'never')")
    accelplug.explain_op(OP, [(4,)])
    assert table.counts()[0].said == {}


def test_values_lists_and_dtypes_can_be_given(site: Site) -> None:
    kernels = "kernel(op='aten::cat', reference=torch.cat, accepts={'tensors': TensorRule(dtypes=('int64',))})"
    install(site, kernels)
    explained = accelplug.explain_op(
        "aten::cat", [(2, 3), (2, 4)], dtype=["int64", "int32"], values={"dim": 1}, device="acme"
    )
    assert explained.call == "aten::cat([int64[2x3], int32[2x4]], 1)"
    assert explained.kernels[0].outcome is Outcome.refuses
    assert explained.kernels[0].reason.endswith("got int32")


@pytest.mark.parametrize(
    ("op", "shapes", "given", "message"),
    [
        ("aten::mmm", [(2, 2)], {}, "unknown operator 'aten::mmm'; did you mean 'aten::mm'"),
        ("mm", [(2, 2)], {}, "unknown operator 'mm'; write it as aten::mm"),
        ("aten::mm", [(2, 2)], {}, "it lacks a shape for mat2"),
        ("aten::mm", [(2, 2)] * 3, {}, "it takes 2 shapes, not 3"),
        (
            "aten::mm",
            [(2, 3), (4, 2)],
            {},
            r"aten::mm\(float32\[2x3\], float32\[4x2\]\) is no call: a and b must have same",
        ),
        ("aten::mm", [(2, -2), (2, 2)], {}, r"shape \(2, -2\): sizes are 0 or more"),
        ("aten::mm", [(2, 2)] * 2, {"dtype": "bfloat61"}, "unknown dtype 'bfloat61'; did you mean 'bfloat16'"),
        ("aten::mm", [(2, 2)] * 2, {"dtype": ["int8"] * 3}, "3 dtypes for 2 shapes"),
        ("aten::_softmax", [(2, 2)], {"values": {"dmi": 1}}, "no such argument; did you mean 'dim'"),
        ("aten::_softmax", [(2, 2)], {"values": {"dim": 1}}, "it lacks half_to_float"),
        ("aten::mm", [(2, 2)] * 2, {"device": "amce"}, "unknown device 'amce'.*did you mean 'acme'"),
    ],
)
def test_what_is_no_call_is_bad_input(site: Site, op: str, shapes: object, given: dict, message: str) -> None:
    install(site, "kernel()")
    with pytest.raises(accelplug.BadInputError, match=message):
        accelplug.explain_op(op, shapes, **{"device": "acme", **given})


def test_the_command_says_the_same(site: Site) -> None:
    install(site, FIVE)
    command = ["explain", "--op", OP, "--shape", "4", "--device", "acme", "--value", "mode=b", "--value", "n=2"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "kernel_tests::put(float32[4], None, 2, 'b', False) on acme: acme/first" in done.output
    assert "then: what the SDK of acme has for it" in done.output


def test_its_json_is_as_the_schema_says(site: Site) -> None:
    install(site, FIVE)
    done = CliRunner().invoke(app, ["explain", "--op", OP, "--shape", "4", "--device", "acme", "--json"])
    output = json.loads(done.stdout)
    jsonschema.validate(output, {"$ref": "#/$defs/output-explain", "$defs": schema.schema()["$defs"]})
    assert [each["outcome"] for each in output["kernels"]] == [
        "refuses",
        "unavailable",
        "runs",
        "outranked",
        "outranked",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--op", OP, "--shape", "4by4"], "--shape '4by4': write 128x256"),
        (["--op", OP, "--shape", "4", "--value", "n"], "--value 'n': write it as NAME=VALUE"),
        (["--shape", "4"], "--shape belongs to a call of an operator; give --op too"),
    ],
)
def test_what_the_command_cannot_read_is_bad_input(site: Site, arguments: list[str], message: str) -> None:
    install(site, "kernel()")
    done = CliRunner().invoke(app, ["explain", "--device", "acme", *arguments])
    assert (done.exit_code, message in done.output) == (2, True), done.output
