"""Each worker process gets one logical core, among those that the user leaves."""

from __future__ import annotations

import accelplug_neuron
import pytest
from accelplug_neuron.cores import SettingError

from accelplug.specs import Worker


def cores(count: int, first: int = 0) -> list[str]:
    """What `count` workers on this machine find in NEURON_RT_VISIBLE_CORES; the first has device `first`."""
    ask = accelplug_neuron.accelplug_device().worker_env
    assert ask is not None
    workers = [Worker(rank=8 + n, local_rank=n, world_size=16, device=first + n) for n in range(count)]
    given = [ask(worker) for worker in workers]
    assert all(set(env) == {"NEURON_RT_VISIBLE_CORES"} for env in given)
    return [env["NEURON_RT_VISIBLE_CORES"] for env in given]


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NEURON_RT_VISIBLE_CORES", "NEURON_RT_NUM_CORES"):
        monkeypatch.delenv(name, raising=False)


def test_workers_are_given_cores_by_their_number_on_the_machine() -> None:
    assert cores(4) == ["0", "1", "2", "3"]


def test_workers_share_out_the_cores_that_the_user_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "9,4-5")
    assert cores(3) == ["4", "5", "9"]


def test_the_second_copy_of_a_model_has_the_next_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cores(2, first=2) == ["2", "3"]
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "4-7")
    assert cores(2, first=2) == ["6", "7"]


def test_more_workers_than_named_cores_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "4-5")
    with pytest.raises(
        SettingError, match=r"VISIBLE_CORES='4-5': leaves 2 cores, and none for device 2, counted from 0"
    ):
        cores(3)


def test_more_workers_than_the_number_of_cores_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_RT_NUM_CORES", "2")
    with pytest.raises(SettingError, match=r"NUM_CORES='2': leaves no core for device 2, counted from 0"):
        cores(3)


def test_named_cores_win_over_a_number_as_in_the_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_RT_NUM_CORES", "1")
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "2-3")
    assert cores(2) == ["2", "3"]


def test_a_malformed_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "a-b")
    with pytest.raises(SettingError, match="'a-b' is neither a core"):
        cores(1)
