"""Reports in files: read back as they were written, as their schema says, kept while areas are added; and badges."""

from __future__ import annotations

import json
import xml.etree.ElementTree as Xml
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from made_up_reports import area, check, report

from accelplug.conformance import ConformanceReport, badge, catalogue, files, levels
from accelplug.conformance.keeping import reusable
from accelplug.conformance.page import index
from accelplug.errors import BadInputError

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "conformance-schema.json"
Examine = Callable[..., ConformanceReport]


def test_a_report_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    made = report(area("probe"), area("ops", check("ops", "mm", "failed", "wrong", forward="wrong")))
    files.write(tmp_path / "report.json", made)
    assert files.read(tmp_path / "report.json") == made
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]


def test_it_is_as_the_schema_in_the_documentation_says() -> None:
    assert SCHEMA.read_text() == files.schema(), (
        "python -m accelplug.conformance.files > docs/reference/conformance-schema.json"
    )
    jsonschema.validate(json.loads(report(area("probe")).model_dump_json()), json.loads(files.schema()))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("[]", "it holds no object"), ("{", "Expecting property name"), ('{"device": 3}', "device: Input should be")],
)
def test_another_file_is_refused_with_what_is_wrong(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(BadInputError, match=f"other.json is no report of accelplug conform: {complaint}"):
        files.read(path)


def test_what_ran_has_digests_and_other_software_another_one(examine: Examine) -> None:
    found = examine("neuron", areas=["probe"])
    assert {"accelplug", "backend", "profile", "torch"} <= found.content.keys()
    assert len(found.digest) == 12
    assert found.digest != found.model_copy(update={"content": {**found.content, "torch": "0" * 12}}).digest
    assert found.digest != found.model_copy(update={"simulated": False}).digest


def test_what_is_kept_is_not_run_again_and_what_is_new_is_added(examine: Examine) -> None:
    first = examine("cpu", areas=["probe"])
    grown: list[ConformanceReport] = []

    both = examine("cpu", areas=["probe", "rng"], kept=first, keep=grown.append)

    assert both["probe"] == first["probe"], "not even its times are new"
    assert [each.name for each in both.areas] == ["probe", "rng"]
    assert [[each.name for each in then.areas] for then in grown] == [["probe", "rng"]]


def test_what_other_software_gave_is_run_again(examine: Examine, caplog: pytest.LogCaptureFixture) -> None:
    kept = examine("cpu", areas=["probe"])
    other = kept.model_copy(update={"content": {**kept.content, "torch": "0" * 12}})
    again = examine("cpu", areas=["rng"], kept=other)
    assert [each.name for each in again.areas] == ["rng"]
    assert "what is kept was found with another torch: everything is run again" in caplog.text


def test_software_that_only_other_areas_are_about_may_have_changed() -> None:
    of_ops, of_vllm = (area(each.name, version=each.version) for each in catalogue.find(["ops", "vllm_cache"]))
    kept = report(of_ops, of_vllm, content={"accelplug": "1", "torch": "1", "vllm": "1"})
    now = report(content={"accelplug": "1", "torch": "1", "vllm": "2"})
    assert reusable(kept, now) == {"ops": of_ops}
    assert reusable(kept, report(content={"accelplug": "2", "torch": "1", "vllm": "1"})) == {}


def test_a_badge_says_the_level_and_on_what_it_was_reached() -> None:
    made = report(*(area(name) for name in levels.areas_of("serves")), simulated=False)
    assert badge.words(made) == "serves · hardware"
    assert json.loads(badge.endpoint(made)) == {
        "schemaVersion": 1,
        "label": "accelplug acme",
        "message": "serves · hardware",
        "color": "brightgreen",
    }
    texts = [element.text for element in Xml.fromstring(badge.svg(made)).iter() if element.tag.endswith("}text")]
    assert texts == ["accelplug acme", "serves · hardware"]


def test_a_badge_of_a_simulated_device_looks_different() -> None:
    assert "url(#s)" in badge.svg(report())
    assert "url(#s)" not in badge.svg(report(simulated=False))
    assert {*badge.COLOURS} == {"", *levels.names()}


def test_the_list_of_reports_has_each_with_its_level_and_what_it_lacks() -> None:
    html = index({"acme.html": report(area("probe"))})
    assert '<a href="acme.html">Acme One</a>' in html
    assert '<li class="reached"><b>detects</b>' in html
    assert '<li class="next"><b>computes</b>' in html
    assert "<li>ops: not examined</li>" in html
