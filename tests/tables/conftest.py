"""Inductor's caches are in a folder of each test's own, and Dynamo begins anew."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture
def fresh_dynamo() -> Iterator[None]:
    import torch
    from torch._inductor.utils import fresh_cache

    torch._dynamo.reset()
    with fresh_cache():
        yield
    torch._dynamo.reset()
