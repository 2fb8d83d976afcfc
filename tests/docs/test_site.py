"""The documentation's site, built and opened in a browser: it is whole, and asks nobody else for anything."""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from fenced_blocks import ROOT

from tools.site import browser

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("material") is None, reason="needs the extra docs: pip install 'accelplug[docs]'"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does: a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Links(HTMLParser):
    """What a page leads to and loads, and the places in it that others can lead to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places = {""}
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.targets += [value for name in ("href", "src") if (value := given.get(name))]
        self.places |= {value for name in ("id", "name") if (value := given.get(name))}


def test_every_link_inside_leads_somewhere(site: Path) -> None:
    pages = {page: Links(page) for page in site.rglob("*.html") if page.name != "404.html"}
    broken = []
    for page, links in pages.items():
        for target in links.targets:
            if urlsplit(target).scheme:
                continue
            path, place = urldefrag(target)
            file = (page.parent / unquote(path)).resolve() if path else page
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file() or (file in pages and unquote(place) not in pages[file].places):
                broken.append(f"{page.relative_to(site)}: {target}")
    assert len(pages) > 30
    assert not broken


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.skipif(browser.program() is None, reason=f"no browser: none of {', '.join(browser.PROGRAMS)} on PATH")
def test_every_page_opens_without_errors_or_requests_elsewhere_and_fits_the_screen(site: Path, address: str) -> None:
    wrong = []
    with browser.Browser() as chromium:
        page = chromium.page()
        for file in sorted(site.rglob("*.html")):
            name = file.relative_to(site).as_posix()
            page.requests.clear()
            page.errors.clear()
            page.resize(1280, 844)
            page.open(f"{address}/{name}")
            headings = page.evaluate("[...document.querySelectorAll('h1')].map(each => each.innerText.trim())")
            wrong += [f"{name}: {error}" for error in page.errors]
            wrong += [f"{name}: asks {url}" for url in page.requests if not url.startswith((address, "data:", "blob:"))]
            if len(headings) != 1 or not headings[0]:
                wrong.append(f"{name}: headings of the first level: {headings}")
            for width in (1280, 390):
                page.resize(width, 844)
                if (needed := page.evaluate("document.documentElement.scrollWidth")) > width:
                    wrong.append(f"{name}: {needed} pixels wide on a screen of {width}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.skipif(browser.program() is None, reason=f"no browser: none of {', '.join(browser.PROGRAMS)} on PATH")
def test_the_search_finds_a_hook(address: str) -> None:
    with browser.Browser() as chromium:
        page = chromium.page()
        page.open(f"{address}/index.html?q=accelplug_capabilities")
        found = page.evaluate(
            "new Promise(done => { const look = () => {"
            " const link = document.querySelector('.md-search-result__link');"
            " link ? done(link.href) : setTimeout(look, 50); }; look(); })"
        )
    assert found.startswith(f"{address}/")
