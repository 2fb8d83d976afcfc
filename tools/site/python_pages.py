"""Reference pages from signatures and docstrings: the public API, the hooks and their records, the libraries."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from importlib import import_module
from typing import Any, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from tools.site import docstrings

LIBRARIES = ("alignment", "buckets", "conformance", "ops", "tracing", "errors")


def api() -> str:
    """What ``import accelplug`` has."""
    package = import_module("accelplug")
    return "\n\n".join(["# Python", docstrings.markdown(package.__doc__), *_members(package, package.__all__)])


def records() -> str:
    """The hooks as `accelplug/hookspecs.py` declares them, and the records that cross them."""
    hookspecs, specs = import_module("accelplug.hookspecs"), import_module("accelplug.specs")
    intro = (
        "Hooks return records, which are frozen, and refuse fields they do not know. How to write each hook: "
        "[Hooks](../hooks/index.md)."
    )
    hooks = [_function(name, function, "###") for name, function in hooks_of(hookspecs).items()]
    parts = ["# Hooks and records", intro, "## Hooks", *hooks, "## Records", *_members(specs, specs.__all__, "###")]
    return "\n\n".join(parts)


def libraries() -> str:
    """The parts of accelplug that are of use by themselves."""
    parts = ["# Libraries", "Parts of accelplug that are of use by themselves."]
    for name in LIBRARIES:
        module = import_module(f"accelplug.{name}")
        members = getattr(module, "__all__", None) or _own(module)
        parts += [f"## accelplug.{name}", docstrings.markdown(module.__doc__), *_members(module, members, "###")]
    return "\n\n".join(parts)


def hooks_of(hookspecs: Any) -> dict[str, Callable[..., Any]]:
    """The hooks, in the order in which the file has them."""
    return {name: value for name, value in vars(hookspecs).items() if name.startswith("accelplug_")}


def _own(module: Any) -> list[str]:
    """The public functions and classes of a module without ``__all__``."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__ and callable(value)
    ]


def _members(module: Any, names: list[str], level: str = "##") -> Iterator[str]:
    for name in names:
        value = getattr(module, name)
        if inspect.isclass(value):
            yield _class(name, value, level)
        elif inspect.isfunction(value):
            yield _function(name, value, level)
        elif get_origin(value) is not None:  # an alias of a type
            yield f"{level} {name}\n\n{code(f'{name} = {value}'.replace('collections.abc.', ''))}"
        elif not isinstance(value, tuple):  # something made of a class, whose text would have an address in it
            about = inspect.cleandoc(type(value).__doc__ or "").partition("\n\n")[0]
            yield f"{level} {name}\n\n{code(f'{name}: {type(value).__name__}')}\n\n{docstrings.markdown(about)}"


def _function(name: str, function: Callable[..., Any], level: str) -> str:
    return "\n\n".join([f"{level} {name}", code(name + signature(function)), docstrings.markdown(function.__doc__)])


def _class(name: str, kind: type, level: str) -> str:
    said, terms = docstrings.split(kind.__doc__)
    parts = [f"{level} {name}", said]
    if issubclass(kind, BaseModel):
        parts += _fields(kind, terms)
    elif issubclass(kind, Enum):
        parts += [_entry(str(member.value), terms.get(member.name, "")) for member in kind]
    else:
        if "__init__" in vars(kind):
            parts.insert(1, code(name + signature(kind)))
        parts += [docstrings.definition(f"`{term}`", text) for term, text in terms.items()]
    return "\n\n".join([*parts, *_methods(kind)])


def _fields(kind: type[BaseModel], terms: dict[str, str]) -> Iterator[str]:
    """Each field with its type, its default and what the docstring says of it; then those that are computed."""
    said = {name: text for names, text in terms.items() for name in names.split(", ")}
    for name, field in kind.model_fields.items():
        declared = next(vars(base)["__annotations__"][name] for base in kind.__mro__ if _declares(base, name))
        default = ""
        if field.default_factory is not None:
            default = f" = {field.default_factory()!r}"  # type: ignore[call-arg]
        elif field.default is not PydanticUndefined:
            default = f" = {field.default!s}" if isinstance(field.default, Enum) else f" = {field.default!r}"
        about = said.get(name) or (field.description or "")
        yield _entry(f"{name}: {declared}{default}", about)
    for name, computed in kind.model_computed_fields.items():
        yield _entry(name, said.get(name) or (computed.description or ""))


def _entry(term: str, about: str) -> str:
    return docstrings.definition(f"`{term}`", about) if about else f"* `{term}`"


def _declares(base: type, name: str) -> bool:
    return name in vars(base).get("__annotations__", {})


def _methods(kind: type) -> Iterator[str]:
    """The public methods and properties that the class itself has and that say what they do."""
    for name, value in vars(kind).items():
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if name.startswith("_") or not getattr(plain, "__doc__", None):
            continue
        if isinstance(plain, property):
            yield docstrings.definition(f"`{name}`", _indented(plain.__doc__))
        elif inspect.isfunction(plain):
            yield docstrings.definition(f"`{name}{signature(plain)}`", _indented(plain.__doc__))


def _indented(text: str | None) -> str:
    return docstrings.markdown(text).replace("\n", "\n    ")


class _Written:
    """An annotation as the source has it, for inspect to print."""

    def __init__(self, text: object) -> None:
        self.text = text if isinstance(text, str) else inspect.formatannotation(text)

    def __repr__(self) -> str:
        return self.text


def signature(function: Callable[..., Any]) -> str:
    """``(device: str | None = None) -> Selection``, without ``self``."""
    found = inspect.signature(function)
    parameters = [
        each if each.annotation is each.empty else each.replace(annotation=_Written(each.annotation))
        for name, each in found.parameters.items()
        if name not in ("self", "cls")
    ]
    result = found.return_annotation
    made = found.replace(parameters=parameters, return_annotation=found.empty)
    return f"{made}" + ("" if result is found.empty else f" -> {_Written(result)!r}")


def code(text: str) -> str:
    return f"```python\n{text}\n```"
