"""What one process of checks is to do."""

from __future__ import annotations

from fnmatch import fnmatchcase

from accelplug.specs import Record


class Task(Record):
    """Some checks of one area: every ``shards``-th from ``shard`` on, less ``done``.

    ``only`` are patterns of names; ``threads`` is how many the CPU's share of the work may have.
    """

    device: str
    area: str
    quick: bool = False
    only: tuple[str, ...] = ()
    shard: int = 0
    shards: int = 1
    done: tuple[str, ...] = ()
    threads: int = 1

    def wants(self, name: str, quick: bool) -> bool:
        """Whether the task has the check, of which ``quick`` says whether a quick run has it."""
        if self.only:
            return any(fnmatchcase(name, pattern) for pattern in self.only)
        return quick or not self.quick
