"""``--device`` in vLLM's parsers, and ``device=`` in ``EngineArgs`` and ``LLM``."""

from __future__ import annotations

from typing import Any

import pytest
from accelplug_vllm import device_flag
from backend_site import Site

from accelplug.errors import BadInputError, DeviceUnusableError, UnknownDeviceError


@pytest.fixture(autouse=True)
def _patched() -> None:
    import vllm.engine.arg_utils  # noqa: F401

    device_flag.patch_engine_args()


def parser() -> Any:
    from vllm.engine.arg_utils import EngineArgs
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    return EngineArgs.add_cli_args(FlexibleArgumentParser())


def test_every_parser_of_engine_arguments_takes_the_flag() -> None:
    assert parser().parse_args(["--device", "auto"]).device == "auto"


def test_vllms_longer_flags_still_work() -> None:
    assert parser().parse_args(["--device-ids", "0", "--device=cpu"]).device == "cpu"


def test_adding_it_twice_is_the_same_as_once() -> None:
    twice = parser()
    device_flag.add_to(twice)
    device_flag.patch_engine_args()
    assert twice.format_help().count("--device DEVICE") == 1
    assert parser().parse_args(["--device", "auto"]).device == "auto"


def test_a_device_that_is_not_usable_is_a_usage_error_with_the_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        parser().parse_args(["--device", "neuron"])
    assert stopped.value.code != 0
    assert "no_hardware" in capsys.readouterr().err


@pytest.mark.parametrize("device", [None, "auto", "cpu", "neuron,cpu"])
def test_engine_args_take_a_device_that_agrees_with_the_platform(device: str | None) -> None:
    from vllm.engine.arg_utils import AsyncEngineArgs, EngineArgs

    assert EngineArgs(model="m", device=device).model == "m"  # type: ignore[call-arg]
    assert AsyncEngineArgs(model="m", device=device).model == "m"  # type: ignore[call-arg]


def test_engine_args_refuse_what_does_not() -> None:
    from vllm.engine.arg_utils import EngineArgs

    with pytest.raises(DeviceUnusableError, match="device 'neuron' \\(from device=\\)"):
        EngineArgs(model="m", device="neuron")  # type: ignore[call-arg]
    with pytest.raises(UnknownDeviceError, match="did you mean 'neuron'"):
        EngineArgs(model="m", device="nuron")  # type: ignore[call-arg]


def test_a_usable_device_that_comes_too_late_is_told_how_to_come_in_time(site: Site) -> None:
    from vllm.engine.arg_utils import EngineArgs

    site.backend("acme", priority=900)
    with pytest.raises(BadInputError, match="set ACCELPLUG_DEVICE=cpu before vLLM is imported"):
        EngineArgs(model="m", device="cpu")  # type: ignore[call-arg]
