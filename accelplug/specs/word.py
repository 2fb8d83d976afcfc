"""The base of every set of words: what ``enum.StrEnum`` is, which Python 3.10 doesn't have."""

from enum import Enum


class Word(str, Enum):
    """One of a few words, which is text and is printed as such."""

    def __str__(self) -> str:
        return str(self.value)
