"""Finding backends: each is loaded once, and one that is wrong is a verdict, never somebody else's problem."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from backend_site import HEAD, Site
from processes import Run

from accelplug.errors import UnknownDeviceError
from accelplug.plugins import Backend, discover, running, running_backend
from accelplug.selection import choose
from accelplug.settings import Settings, Sourced
from accelplug.specs import Verdict


def found(name: str) -> Backend:
    (backend,) = [backend for backend in discover() if backend.name == name]
    return backend


def test_the_built_in_backends_are_found_through_entry_points() -> None:
    assert {"cpu", "cuda", "mps", "neuron", "rocm", "spyre", "xpu"} <= {backend.name for backend in discover()}


def test_an_installed_backend_is_found_with_its_origin(site: Site) -> None:
    site.backend("acme", priority=900)

    backend = found("acme")
    assert backend.spec is not None
    assert (backend.spec.priority, backend.origin, backend.error) == (900, "acme-backend 1.2.3", "")


def test_any_object_with_the_hook_is_a_plugin(site: Site) -> None:
    module = site.module(
        "acme",
        HEAD + "class Acme:\n"
        "    @hookimpl\n"
        "    def accelplug_device(self):\n"
        "        return DeviceSpec(name='acme', title='', torch_type='cpu', probe=print)\n"
        "plugin = Acme()\n",
    )
    site.metadata("acme-backend", "acme", f"{module}:plugin")
    assert found("acme").spec is not None


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("import no_such_sdk", "ModuleNotFoundError: No module named 'no_such_sdk'"),
        ("raise OSError('libacme.so: undefined symbol: x')", "OSError: libacme.so: undefined symbol: x"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def f(:", "SyntaxError: invalid syntax"),
        ("", "hook accelplug_device must return one DeviceSpec, got []"),
        (HEAD + "@hookimpl\ndef accelplug_device(): return 'acme'", "must return one DeviceSpec, got ['acme']"),
        (HEAD + "@hookimpl\ndef accelplug_device(): 1 / 0", "ZeroDivisionError: division by zero"),
        (HEAD + "@hookimpl\ndef accelplug_device(host): pass", "PluginValidationError"),
        (HEAD + "@hookimpl\ndef accelplug_devcie(): pass", "unknown hook 'accelplug_devcie'"),
        (
            HEAD + "@hookimpl\ndef accelplug_device():\n"
            "    return DeviceSpec(name='other', title='', torch_type='cpu', probe=print)",
            "the entry point is named 'acme' but the device 'other'; they must be equal",
        ),
    ],
)  # fmt: skip
def test_a_backend_that_cannot_be_loaded_is_kept_with_its_cause(site: Site, source: str, cause: str) -> None:
    site.module("acme", source)
    site.backend("fine")

    assert cause in found("acme").cause
    assert "Traceback" in found("acme").error
    assert found("fine").spec is not None


def test_an_entry_point_to_nothing_is_a_broken_backend(site: Site) -> None:
    site.metadata("acme-backend", "acme", "no_such_module:plugin")
    assert "no_such_module" in found("acme").cause


def test_metadata_without_a_name_or_version_does_not_hurt(site: Site) -> None:
    site.backend("acme")
    (site.folder / "acme_backend-1.2.3.dist-info" / "METADATA").unlink()
    assert found("cpu").spec is not None
    assert found("acme").spec is not None


def test_what_is_not_on_the_allow_list_is_listed_but_never_imported(site: Site, tmp_path: Path) -> None:
    trace = tmp_path / "imported"
    site.backend("acme", head=f"open({str(trace)!r}, 'w')\n")

    selection = choose(Sourced(Settings(backends="cpu"), {"backends": "ACCELPLUG_BACKENDS"}))

    assert selection["acme"].verdict is Verdict.disabled
    assert "ACCELPLUG_BACKENDS=cpu" in selection["acme"].reason
    assert not trace.exists()
    assert found("acme").spec is not None
    assert trace.exists()  # so the trace is one that an import leaves


def test_an_unknown_name_on_the_allow_list_is_an_error() -> None:
    with pytest.raises(UnknownDeviceError, match=r"unknown device 'nuron' \(from the file\); did you mean 'neuron'"):
        choose(Sourced(Settings(backends="nuron,cpu"), {"backends": "the file"}))


def test_the_backend_whose_code_runs_is_known() -> None:
    assert running_backend() == ""
    with running("acme"):
        assert running_backend() == "acme"
    assert running_backend() == ""


def test_a_backend_is_imported_with_its_name_known(site: Site) -> None:
    site.backend("acme", head="from accelplug.plugins import running_backend\nassert running_backend() == 'acme'\n")
    assert found("acme").spec is not None


def test_ctrl_c_during_an_import_is_not_swallowed(site: Site) -> None:
    site.module("acme", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        discover()


def test_a_backend_installed_in_two_places_on_the_path_is_one(site: Site, python: Run, tmp_path: Path) -> None:
    site.backend("acme")
    again = shutil.copytree(site.folder, tmp_path / "again")
    code = "from accelplug.plugins import discover; print([b.spec is not None for b in discover() if b.name == 'acme'])"

    assert python(code, PYTHONPATH=f"{site.folder}:{again}").stdout == "[True]\n"
