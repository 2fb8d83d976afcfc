"""The pictures of README.md and docs/: `make docs-images` takes them."""

from __future__ import annotations

from fenced_blocks import ROOT

from tools.site import screenshots


def test_each_picture_is_small_and_has_a_light_and_a_dark_form() -> None:
    pictures = {path.stem: path.stat().st_size for path in (ROOT / "docs" / "images").glob("*.png")}
    light = {name for name in pictures if not name.endswith("-dark")}
    assert light
    assert pictures.keys() == light | {f"{name}-dark" for name in light}
    assert max(pictures.values()) <= screenshots.LARGEST
