"""The settings: ACCELPLUG_* variables and accelplug.toml, one model, errors that say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from accelplug import settings
from accelplug.errors import BadInputError

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


@pytest.fixture
def toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The accelplug.toml of the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "accelplug.toml"


def complaint(*parts: str, **environ: str) -> str:
    """What `read` says of an environment; it must contain each of the parts."""
    with pytest.raises(BadInputError) as caught:
        settings.read(environ)
    message = str(caught.value)
    for part in parts:
        assert part in message
    return message


def test_nothing_set_is_all_defaults_and_no_sources(toml: Path) -> None:
    sourced = settings.read({})
    assert sourced.values == settings.Settings()
    assert sourced.described() == {}


def test_a_variable_wins_over_the_file_and_the_file_over_the_default(toml: Path) -> None:
    toml.write_text('device = "neuron"\nprobe_timeout = 9\n')

    sourced = settings.read({"ACCELPLUG_DEVICE": "spyre"})

    assert (sourced.values.device, sourced.values.probe_timeout, sourced.values.cpu_fallback) == ("spyre", 9, "allow")
    assert sourced.sources == {"device": "ACCELPLUG_DEVICE", "probe_timeout": "accelplug.toml"}
    assert sourced.described() == {"device": "spyre (ACCELPLUG_DEVICE)", "probe_timeout": "9.0 (accelplug.toml)"}


def test_an_empty_variable_counts_as_unset(toml: Path) -> None:
    toml.write_text('device = "neuron"\n')
    environ = {"ACCELPLUG_DEVICE": "", "ACCELPLUG_PROBE_TIMEOUT": "", "ACCELPLUG_CONFIG": ""}
    assert settings.read(environ).sources == {"device": "accelplug.toml"}


def test_the_named_file_wins_over_the_one_in_the_working_directory(toml: Path, tmp_path: Path) -> None:
    toml.write_text('device = "neuron"\n')
    named = tmp_path / "other.toml"
    named.write_text('device = "spyre"\n')

    assert settings.read({"ACCELPLUG_CONFIG": str(named)}).described() == {"device": f"spyre ({named})"}


def test_the_users_file_is_read_where_the_working_directory_has_none(
    toml: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings.platformdirs, "user_config_path", lambda app: tmp_path / "config" / app)
    users = tmp_path / "config" / "accelplug" / "accelplug.toml"
    users.parent.mkdir(parents=True)
    users.write_text('device = "spyre"\n')

    assert settings.read({}).sources == {"device": str(users)}


def test_a_configuration_folder_that_cannot_be_looked_into_is_passed_over(
    toml: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_long = Path("/" + 300 * "x")  # like a folder of another user's: looking into it is an OSError
    monkeypatch.setattr(settings.platformdirs, "user_config_path", lambda app: too_long)
    assert settings.read({}).sources == {}


def test_names_are_trimmed_and_may_not_repeat(toml: Path) -> None:
    assert settings.read({"ACCELPLUG_DEVICE": " neuron, cuda ,"}).values.device == "neuron,cuda"
    complaint("ACCELPLUG_DEVICE", "given twice", ACCELPLUG_DEVICE="neuron,neuron")
    complaint("ACCELPLUG_DEVICE", "names nothing", ACCELPLUG_DEVICE=" , ")


def test_a_bad_value_in_a_variable_names_it_the_allowed_ones_and_the_nearest(toml: Path) -> None:
    complaint(
        "ACCELPLUG_CPU_FALLBACK", "'eror'", "'allow' or 'error'", "did you mean 'error'", ACCELPLUG_CPU_FALLBACK="eror"
    )


def test_a_wrong_budget_or_policy_is_said_with_its_variable_and_the_nearest(toml: Path) -> None:
    complaint(
        "ACCELPLUG_FALLBACK_BUDGET: fallback_budget = 'byte=3'",
        "did you mean 'bytes'?",
        "did you mean 'warn'?",
        ACCELPLUG_FALLBACK_BUDGET="byte=3",
        ACCELPLUG_FALLBACK="warm",
    )


def test_the_name_of_a_report_has_no_placeholder_but_the_process(toml: Path) -> None:
    assert settings.read({"ACCELPLUG_REPORT": "run-{pid}.json"}).values.report == "run-{pid}.json"
    complaint("ACCELPLUG_REPORT: ", "the only {} there may be is {pid}", ACCELPLUG_REPORT="run-{rank}.json")


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "3601", "soon"])
def test_a_timeout_that_makes_no_sense_is_refused(seconds: str, toml: Path) -> None:
    complaint("ACCELPLUG_PROBE_TIMEOUT", repr(seconds), ACCELPLUG_PROBE_TIMEOUT=seconds)


def test_a_bad_value_in_the_file_names_the_file(toml: Path) -> None:
    toml.write_text("device = 3\n")
    complaint("accelplug.toml: device = 3:", "string")


def test_all_that_is_wrong_is_said_at_once(toml: Path) -> None:
    toml.write_text('devise = "cuda"\ncpu_fallback = "no"\n')
    complaint("devise", "cpu_fallback")


def test_a_file_that_is_not_utf8_or_not_toml_is_named(toml: Path) -> None:
    toml.write_bytes(b'device = "\xff"\n')
    complaint("accelplug.toml: ", "utf-8")
    toml.write_text("device = cuda\n")
    complaint("accelplug.toml: ", "line 1")


def test_a_file_in_utf8_is_read_as_such_in_any_locale(toml: Path) -> None:
    toml.write_text("# für Wärme\ndevice = 'cpu'\n", encoding="utf-8")
    assert settings.read({}).values.device == "cpu"


def test_every_setting_is_documented() -> None:
    for name, field in settings.Settings.model_fields.items():
        assert field.description, f"{name} needs a description"


def test_the_reference_page_is_what_the_model_says() -> None:
    assert settings.reference() in DOCS.read_text(encoding="utf-8"), (
        f"{DOCS} is out of date; put in the table that "
        "`python -c 'from accelplug import settings; print(settings.reference())'` prints"
    )
