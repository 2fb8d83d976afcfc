"""A static-shape device whose compiler remembers the graphs it was given."""

from __future__ import annotations

from typing import Any

import pytest
import table_backend
from backend_site import Site


@pytest.fixture
def compiled_graphs(site: Site, fresh_dynamo: None) -> list[Any]:
    """The graphs compiled so far, of a device that compiles static shapes only; its tensors are the CPU's."""
    seen: list[Any] = table_backend.live(site, compiler="backend=own_compiler, static_shapes=True").SEEN
    return seen
