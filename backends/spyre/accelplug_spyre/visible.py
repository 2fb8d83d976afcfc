"""Which cards a process sees: FLEX_DEVICE, SPYRE_DEVICES and AIU_WORLD_SIZE, as the flex runtime reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from accelplug_spyre.hardware import Card

DEVICES = "SPYRE_DEVICES"
WORLD_SIZE = "AIU_WORLD_SIZE"
KIND = "FLEX_DEVICE"


class SettingError(ValueError):
    """A variable that the flex runtime would refuse, or that leaves no card. ``variable`` is its name."""

    def __init__(self, variable: str, value: str, problem: str) -> None:
        self.variable = variable
        super().__init__(f"{variable}={value!r}: {problem}")


def kind(environ: Mapping[str, str]) -> str:
    """ "PF", "VF" or "MOCK" as FLEX_DEVICE says, "" where it is unset. A card's revision may follow ("MOCK1p0").

    Raises SettingError for anything else.
    """
    value = environ.get(KIND)
    if value is None:
        return ""
    match = re.fullmatch(r"(PF|VF|MOCK)([0-9]+p[0-9]+)?", value.strip())
    if match is None:
        raise SettingError(KIND, value, "must be PF (cards), VF (virtual functions of cards) or MOCK")
    return match[1]


def world_size(environ: Mapping[str, str]) -> int | None:
    """AIU_WORLD_SIZE, None where it is unset. Raises SettingError where it is no number from 1."""
    value = environ.get(WORLD_SIZE)
    if value is None:
        return None
    if not re.fullmatch(r"[0-9]+", value.strip()) or int(value) < 1:
        raise SettingError(WORLD_SIZE, value, "must be a number of cards, 1 or more")
    return int(value)


def visible(environ: Mapping[str, str], cards: Sequence[Card]) -> int:
    """How many of the cards that can be opened the variables leave. Raises SettingError where none is left.

    Indices in SPYRE_DEVICES that name no card are passed over, as flex does. An index may count the cards of this
    container or those of the machine; the sources show both uses, so both are taken.
    """
    wanted = kind(environ)
    fitting = [card for card in cards if wanted in ("", card.kind)]
    if not fitting:
        raise SettingError(KIND, environ[KIND], f"but the cards here are {', '.join(sorted({c.kind for c in cards}))}")
    count = len(fitting)
    size = world_size(environ)
    if size is not None and size > count:
        raise SettingError(WORLD_SIZE, environ[WORLD_SIZE], f"but there {'is' if count == 1 else 'are'} {count} here")
    if DEVICES in environ:
        count = _named(environ[DEVICES], fitting)
    return count if size is None else min(count, size)


def _named(value: str, cards: Sequence[Card]) -> int:
    named = set()
    for entry in (part.strip() for part in value.split(",")):
        if not re.fullmatch(r"[0-9]+", entry):
            what = f"{entry!r} is not the index of a card" if entry else "names no card"
            raise SettingError(DEVICES, value, f"{what}; give indices separated by commas, as in 0,2")
        named.add(int(entry))
    valid = named & ({*range(len(cards))} | {card.index for card in cards})
    if not valid:
        raise SettingError(DEVICES, value, f"none of these is here, the cards are 0 to {len(cards) - 1}")
    return min(len(valid), len(cards))
