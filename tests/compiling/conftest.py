"""Inductor's caches are in a folder of the module's own, so that C++ is set up once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def own_cache() -> Iterator[None]:
    from torch._inductor.utils import fresh_cache

    with fresh_cache():
        yield
