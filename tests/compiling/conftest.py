"""Inductor's caches are in a folder of the module's own, so that C++ is set up once. Dynamo begins each test anew."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def own_cache() -> Iterator[None]:
    from torch._inductor.utils import fresh_cache

    with fresh_cache():
        yield


@pytest.fixture
def fresh_dynamo(own_cache: None) -> Iterator[None]:
    import torch

    torch._dynamo.reset()
    yield
    torch._dynamo.reset()
