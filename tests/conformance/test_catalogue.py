"""Areas of other packages, through the entry-point group ``accelplug.conformance_areas``."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from backend_site import Site, forget

from accelplug.conformance import ConformanceReport, Outcome, catalogue
from accelplug.errors import AccelplugError

Examine = Callable[..., ConformanceReport]

BRINGS = """
from accelplug.conformance import Area

def areas():
    return [Area({name!r}, "Acme's own", "{module}_checks", live=False, needs={needs!r})]
"""
CHECKS = """
from accelplug.conformance.checks import check, expect

@check("ask Acme")
def the_device_has_a_name(subject):
    expect(bool(subject.name), "it has none")
"""


def install(site: Site, source: str, **given: str) -> None:
    """A package that brings areas; its checks are in a module of their own."""
    module = f"acme_areas_{next(Site._numbers)}"
    (site.folder / f"{module}.py").write_text(source.format(module=module, **given))
    (site.folder / f"{module}_checks.py").write_text(CHECKS)
    info = site.folder / "acme_areas-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-areas\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{catalogue.ENTRY_POINTS}]\nacme = {module}:areas\n")
    forget()


def test_a_package_brings_an_area_and_its_digest_is_in_the_report(site: Site, examine: Examine) -> None:
    install(site, BRINGS, name="acme", needs="")
    report = examine("cpu", areas=["acme"])
    assert [(check.name, check.outcome) for check in report["acme"].checks] == [
        ("the device has a name", Outcome.passed)
    ]
    assert any(name.startswith("acme_areas_") for name in report.content)


def test_an_area_about_what_is_not_installed_is_left_out_with_the_reason(site: Site, examine: Examine) -> None:
    install(site, BRINGS, name="acme", needs="acme_sdk")
    (check,) = examine("cpu", areas=["acme"])["acme"].checks
    assert (check.outcome, check.why) == (Outcome.skipped, "acme_sdk is not installed")


def test_a_package_that_can_not_say_what_it_brings_is_named(site: Site) -> None:
    install(site, "def areas():\n    raise OSError('no file')\n")
    with pytest.raises(AccelplugError, match=r"conformance of acme-areas 1\.0 can't be listed: OSError: no file"):
        catalogue.areas()


def test_a_name_that_is_taken_is_refused(site: Site) -> None:
    install(site, BRINGS, name="ops", needs="")
    with pytest.raises(AccelplugError, match=r"acme-areas 1\.0 brings an area 'ops', which is there already"):
        catalogue.areas()
