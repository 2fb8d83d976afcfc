"""The reference pages, which are made from the code: nothing public is without a description."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import get_args, get_type_hints

import pytest
from pydantic import BaseModel

import accelplug
from accelplug import hookspecs, specs
from accelplug.cli.schema import OUTPUTS
from tools.site import cli_page, docstrings, json_page, python_pages


def returned() -> set[type[BaseModel]]:
    """The records that hooks return."""
    hints = [get_type_hints(hook)["return"] for hook in python_pages.hooks_of(hookspecs).values()]
    kinds = [kind for hint in hints for kind in (hint, *get_args(hint)) if isinstance(kind, type)]
    return {kind for kind in kinds if issubclass(kind, BaseModel)}


@pytest.mark.parametrize("record", sorted(returned(), key=lambda kind: kind.__name__))
def test_every_field_of_what_a_hook_returns_is_described(record: type[BaseModel]) -> None:
    _, terms = docstrings.split(record.__doc__)
    described = {name for names in terms for name in names.split(", ")}
    assert described == set(record.model_fields), record


def test_the_public_api_is_on_its_page_with_what_it_says() -> None:
    page = python_pages.api()
    for name in accelplug.__all__:
        assert re.search(rf"^## {name}\n\n(```python\n{name}\(.*\n```\n\n)?[A-Z`]", page, re.MULTILINE), name


def test_every_record_is_on_the_page_of_records() -> None:
    headings = re.findall(r"^### (\w+)$", python_pages.records(), re.MULTILINE)
    assert {*specs.__all__} - {*headings} == set()


@pytest.mark.parametrize("page", [python_pages.api, python_pages.records, python_pages.libraries])
def test_a_page_comes_out_the_same_in_every_process(page: Callable[[], str]) -> None:
    assert not re.search(r" at 0x[0-9a-f]+", page())


def test_every_command_is_on_its_page_with_its_options() -> None:
    page = cli_page.page()
    assert {*re.findall(r"^## accelplug (\S+)$", page, re.MULTILINE)} >= {*OUTPUTS, "serve"}
    assert "| `--device NAME[,NAME…]` |" in page
    assert "$ accelplug explain --op aten::mm" in page


def test_every_output_leads_to_an_object_of_the_json_page() -> None:
    page = json_page.page()
    titles = re.findall(r"^## (.+)$", page, re.MULTILINE)
    places = {re.sub(r"[^a-z0-9_ -]", "", title.lower()).replace(" ", "-") for title in titles}
    assert {*re.findall(r"\]\(#([^)]+)\)", page)} <= places


def test_a_docstring_becomes_markdown() -> None:
    text = """Adds ``a`` and ``b``.

    a, b
        Numbers, of
        any kind.

    >>> add(1, 2)  # doctest: +SKIP
    3
    """
    assert docstrings.markdown(text) == (
        "Adds `a` and `b`.\n\n```python\n>>> add(1, 2)\n3\n```\n\n`a, b`\n\n:   Numbers, of any kind."
    )
