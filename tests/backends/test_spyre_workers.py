"""Each worker process gets its ranks, and the card that was assigned in its place."""

from __future__ import annotations

import accelplug_spyre
import pytest

from accelplug.specs import Worker


@pytest.fixture(autouse=True)
def no_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PCIDEVICE_IBM_COM_AIU_PF", "SPYRE_DEVICES", "AIU_WORLD_RANK_0", "AIU_WORLD_RANK_1"):
        monkeypatch.delenv(name, raising=False)


def env() -> dict[str, str]:
    """What the second of two workers gets."""
    worker_env = accelplug_spyre.accelplug_device().worker_env
    assert worker_env is not None
    return worker_env(Worker(rank=1, local_rank=1, world_size=2, device=1))


def test_a_worker_has_its_ranks_before_the_sdk_is_loaded() -> None:
    assert env() == {
        "RANK": "1",
        "WORLD_SIZE": "2",
        "LOCAL_RANK": "1",
        "LOCAL_WORLD_SIZE": "2",
        "AIU_WORLD_SIZE": "2",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }


def test_each_rank_has_the_card_that_was_assigned_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PCIDEVICE_IBM_COM_AIU_PF", "0000:1a:00.0, 0000:3d:00.0,0000:5e:00.0")
    given = env()
    assert (given["AIU_WORLD_RANK_0"], given["AIU_WORLD_RANK_1"]) == ("0000:1a:00.0", "0000:3d:00.0")
    assert "AIU_WORLD_RANK_2" not in given


@pytest.mark.parametrize("name", ["SPYRE_DEVICES", "AIU_WORLD_RANK_1"])
def test_what_the_user_says_about_cards_stays(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("PCIDEVICE_IBM_COM_AIU_PF", "0000:1a:00.0,0000:3d:00.0")
    monkeypatch.setenv(name, "0")
    assert "AIU_WORLD_RANK_1" not in env()


def test_more_workers_than_assigned_cards_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PCIDEVICE_IBM_COM_AIU_PF", "0000:1a:00.0")
    with pytest.raises(ValueError, match="2 workers need a card each, and PCIDEVICE_IBM_COM_AIU_PF has 1;"):
        env()
