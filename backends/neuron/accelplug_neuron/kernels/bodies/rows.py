"""How the physical cores of a logical one share the rows of a tensor."""

from __future__ import annotations

import nki.language as nl


def share(rows: int) -> tuple[int, int]:
    """The first row that this core computes, and the one after its last.

    All cores do the same work, as NKI wants the same program on each. Where the rows don't divide, the last core's
    share reaches back into the one before: both write the same bytes there.
    """
    count = (rows + nl.num_programs() - 1) // nl.num_programs()
    first = min(nl.program_id(0) * count, rows - count)
    return first, first + count
