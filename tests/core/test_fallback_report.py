"""The fallback report: as text, in a notebook, as JSON, as a page."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from accelplug.errors import AccelplugError, BadInputError
from accelplug.specs import FallbackReport, FallbackRow, Transfers

ROWS = (
    FallbackRow(
        op="aten::fill_.Scalar",
        calls=1000,
        bytes=3 << 20,
        nanoseconds=1_500_000,
        device=0,
        compiled=False,
        reason="no kernel on the device",
        site="train.py:7",
    ),
    FallbackRow(
        op="prims::iota",
        calls=20,
        bytes=2560,
        nanoseconds=None,
        device=0,
        compiled=True,
        reason="predicate </script> said no",
    ),
)
REPORT = FallbackReport(
    device="spyre",
    torch_type="spyre",
    simulated=True,
    counted=True,
    torch_version="2.13.0",
    accelplug_version="0.1.0",
    policy="warn",
    budgets=("calls=5000",),
    process=1,
    seconds=2.5,
    rows=ROWS,
    native_calls=2980,
    native_bytes=1 << 30,
    transfers=Transfers(to_device_calls=2, to_device_bytes=4096),
    notes=("simulated: nothing of this has run on hardware",),
)
NAMES_ONLY = REPORT.model_copy(
    update={
        "native_calls": None,
        "transfers": None,
        "rows": tuple(row.model_copy(update={"calls": None, "bytes": None, "nanoseconds": None}) for row in ROWS),
    }
)


def test_the_text_has_the_sums_and_a_line_for_each_operator() -> None:
    head, _, columns, first, second, _, policy, copies, note = str(REPORT).splitlines()
    assert head == (
        "spyre (simulated): 2 ops fell back to the CPU, 1,020 calls, 3.0 MiB that hardware would move, 1.5 ms, "
        "74.5 % of calls native, in 2.5 s"
    )
    assert re.split(r"  +", columns) == ["op", "calls", "bytes", "time", "device", "where", "first called at", "reason"]
    assert re.split(r"  +", first)[:6] == ["aten::fill_.Scalar", "1,000", "3.0 MiB", "1.5 ms", "0", "eager"]
    assert re.split(r"  +", second)[1:7] == ["20", "2.5 KiB", "–", "0", "compiled", "–"]
    assert policy == "policy warn, budgets calls=5000"
    assert copies.startswith("copies: 2 to the device (4.0 KiB)")
    assert note == REPORT.notes[0]


def test_what_the_sdk_does_not_count_is_a_dash_and_no_zero() -> None:
    assert NAMES_ONLY.native_share is None
    head, *_ = text = str(NAMES_ONLY).splitlines()
    assert head == "spyre (simulated): 2 ops fell back to the CPU, in 2.5 s"
    assert re.split(r"  +", text[3])[1:4] == ["–", "–", "–"]


def test_nothing_that_fell_back_and_nothing_that_was_counted_are_two_things() -> None:
    nothing = REPORT.model_copy(update={"rows": ()})
    assert str(nothing).startswith("spyre (simulated): nothing fell back to the CPU in 2.5 s")
    assert nothing.native_share == 1
    uncounted = nothing.model_copy(update={"counted": False})
    assert str(uncounted).startswith("spyre (simulated): fallbacks are not counted")


def test_a_share_that_is_not_all_is_never_said_as_100_percent() -> None:
    assert "99.9 % of calls native" in str(REPORT.model_copy(update={"native_calls": 10**9}))


def test_a_notebook_shows_a_table_with_all_text_escaped() -> None:
    html = REPORT._repr_html_()
    assert html.count("<tr>") == 3
    assert "predicate &lt;/script&gt; said no" in html


def test_a_report_is_the_same_after_it_was_saved_and_loaded(tmp_path: Path) -> None:
    REPORT.save(tmp_path / "run.json")
    assert FallbackReport.load(tmp_path / "run.json") == REPORT
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "can't be read: No such file"),
        ("not json", "is not a fallback report of accelplug: Invalid JSON"),
        (REPORT.model_dump_json().replace('"policy"', '"police"'), "is not a fallback report of accelplug: policy:"),
    ],
)
def test_a_file_that_is_no_report_is_said_with_its_path(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "run.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadInputError) as caught:
        FallbackReport.load(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


class Resources(HTMLParser):
    """What a page would fetch, and the scripts it has."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.fetched += [value or "" for name, value in attributes if name in ("src", "href", "data", "action")]


def test_the_page_is_one_file_that_fetches_nothing_and_lets_no_text_end_a_script(tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    REPORT.html(tmp_path / "run.html")
    resources = Resources()
    resources.feed((tmp_path / "run.html").read_text(encoding="utf-8"))
    assert resources.fetched == []
    assert resources.scripts == 4  # plotly, the figures, the plots, the table


@pytest.mark.parametrize("report", [NAMES_ONLY, REPORT.model_copy(update={"rows": ()})])
def test_a_page_without_numbers_has_no_plots(report: FallbackReport) -> None:
    pytest.importorskip("plotly")
    page = report.html()
    assert "Plotly" not in page
    assert len(page) < 20_000


def test_the_plots_show_each_operator_eager_and_compiled() -> None:
    from accelplug.reporting import charts

    assert charts.measured(REPORT) == ["bytes", "calls", "time"]
    eager, compiled = charts.bars(REPORT, "calls")["data"]
    assert (eager["y"], eager["x"]) == (["fill_.Scalar", "prims::iota"], [1000, 0])
    assert compiled["x"] == [0, 20]
    (tree,) = charts.tree(REPORT, "calls")["data"]
    assert dict(zip(tree["ids"], tree["values"], strict=True))["compiled prims::iota"] == 20


def test_a_page_without_plotly_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(AccelplugError, match=r"plotly.* not installed: pip install 'accelplug\[report\]'"):
        REPORT.html()
