"""Each kernel that the backend brings gives what its reference gives."""

from __future__ import annotations

CHECKS: list[object] = []
