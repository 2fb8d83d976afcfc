"""A headless Chromium, asked over a pipe in its DevTools protocol: opens pages, looks at them and takes pictures.

with Browser() as browser:
    page = browser.page(width=400)
    page.open("http://127.0.0.1:8000/")
    page.evaluate("document.title"), page.requests, page.errors
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 30.0  # for a page to load

Message = dict[str, Any]


def program() -> str | None:
    """The browser on PATH, None where there is none."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


class Browser:
    """One browser process, with a profile of its own that goes when it ends."""

    def __init__(self) -> None:
        found = program()
        if found is None:
            raise FileNotFoundError(f"none of {', '.join(PROGRAMS)} is on PATH; install Chromium")
        self._profile = tempfile.TemporaryDirectory(prefix="browser-")
        reads, self._to = os.pipe()
        self._from, writes = os.pipe()
        command = [found, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        command += ["--hide-scrollbars", "--no-first-run", f"--user-data-dir={self._profile.name}"]
        files: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_DUP2, reads, 3),  # the browser reads from 3 and writes to 4
            (os.POSIX_SPAWN_DUP2, writes, 4),
            *((os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)),
        ]
        command += ["--remote-debugging-pipe", "about:blank"]
        self._process = os.posix_spawn(found, command, os.environ, file_actions=files)
        os.close(reads)
        os.close(writes)
        self._read = b""
        self._last = 0
        self._pages: dict[str, Page] = {}

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *raised: object) -> None:
        self.ask("Browser.close")  # its other processes end with it, so nobody writes to the profile any more
        os.waitpid(self._process, 0)
        os.close(self._to)
        os.close(self._from)
        self._profile.cleanup()

    def page(self, *, width: int = 1280, height: int = 900, dark: bool = False, sharpness: float = 1) -> Page:
        """A new page of this size in CSS pixels, of ``sharpness`` real ones each, that prefers light or dark."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Network", "Runtime", "Log"):
            page.ask(f"{domain}.enable")
        page.resize(width, height, sharpness)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.ask("Emulation.setEmulatedMedia", features=[scheme])
        return page

    def ask(self, method: str, session: str | None = None, **parameters: Any) -> Message:
        """The result of one call of the protocol. Raises RuntimeError with what the browser says against it."""
        self._last += 1
        message: Message = {"id": self._last, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            self._deliver(answer)

    def wait(self) -> None:
        """Takes in one event."""
        self._deliver(self._next())

    def _next(self) -> Message:
        while b"\0" not in self._read:
            part = os.read(self._from, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self._read += part
        message, _, self._read = self._read.partition(b"\0")
        return dict(json.loads(message))

    def _deliver(self, event: Message) -> None:
        page = self._pages.get(event.get("sessionId", ""))
        if page is not None:
            page.heard(event["method"], event["params"])


class Page:
    """One page; ``requests`` are the addresses that it asked for, ``errors`` what it wrote to the console as such."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self._loaded = False
        self.requests: list[str] = []
        self.errors: list[str] = []

    def ask(self, method: str, **parameters: Any) -> Message:
        """One call of the protocol for this page."""
        return self._browser.ask(method, self._session, **parameters)

    def resize(self, width: int, height: int, sharpness: float = 1) -> None:
        """Makes the page this large, in CSS pixels of ``sharpness`` real ones each."""
        size = {"width": width, "height": height, "deviceScaleFactor": sharpness, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **size)

    def open(self, url: str) -> None:
        """Opens a page and waits until it is loaded. Raises TimeoutError, and RuntimeError where there is none."""
        self._loaded = False
        answer = self.ask("Page.navigate", url=url)
        if "errorText" in answer:
            raise RuntimeError(f"{url}: {answer['errorText']}")
        until = time.monotonic() + SECONDS
        while not self._loaded:
            if time.monotonic() > until:
                raise TimeoutError(f"{url} is not loaded after {SECONDS:.0f} s")
            self._browser.wait()

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript; a promise is awaited. Raises RuntimeError for an exception."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def picture(self, path: Path, *, height: int | None = None) -> None:
        """Writes what is in sight, or the page down to ``height``, as PNG."""
        width = self.evaluate("innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height or self.evaluate("innerHeight"), "scale": 1}
        shot = self.ask("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def heard(self, event: str, given: Message) -> None:
        """Keeps what tests ask for."""
        if event == "Page.loadEventFired":
            self._loaded = True
        elif event == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.errors.append(str(given["exceptionDetails"].get("exception", given["exceptionDetails"])))
        elif event == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.errors.append(f"{given['entry']['text']} {given['entry'].get('url', '')}")
        elif event == "Runtime.consoleAPICalled" and given["type"] in ("error", "assert"):
            self.errors.append(str([each.get("value") for each in given["args"]]))
