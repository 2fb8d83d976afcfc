"""Asks a server over HTTP, and says clearly where nothing answers."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from accelplug.errors import AccelplugError, BadInputError

QUICK = 10.0  # seconds that a server may take for what it knows already
STARTING = "`vllm serve MODEL --device auto` starts one on http://localhost:8000"


class NoAnswerError(AccelplugError):
    """Nothing answers at a URL, or not over HTTP."""


class StatusError(AccelplugError):
    """A server answers with an error. ``status`` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class Server:
    """A server at a URL, ``http://localhost:8000``; a path of its own, such as ``/metrics`` or ``/v1``, is left out.

    Raises BadInputError for what is no URL.
    """

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url if "://" in url else f"http://{url}")
        try:
            fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:  # of a port that is no number
            fine = False
        if not fine:
            raise BadInputError(f"{url!r} is not the URL of a server; one is http://localhost:8000")
        path = parts.path.rstrip("/")
        for own in ("/metrics", "/v1"):
            path = path.removesuffix(own)
        self.url = f"{parts.scheme}://{parts.netloc}{path}"

    def get(self, path: str, timeout: float = QUICK) -> str:
        """What it answers, as text. Raises NoAnswerError, StatusError."""
        return self._ask(path, None, timeout)

    def post(self, path: str, body: Any, timeout: float) -> str:
        """What it answers to ``body`` as JSON, as text. Raises NoAnswerError, StatusError."""
        return self._ask(path, json.dumps(body).encode(), timeout)

    def _ask(self, path: str, body: bytes | None, timeout: float) -> str:
        url = self.url + path
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"} if body is not None else {})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return str(answer.read().decode("utf-8", "replace"))
        except urllib.error.HTTPError as error:
            with error:
                said = _message(error.read().decode("utf-8", "replace"))
            raise StatusError(error.code, f"{url} answers {error.code} {error.reason}{said}") from None
        except TimeoutError:
            raise NoAnswerError(f"{url} has not answered for {timeout:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            why = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
            raise NoAnswerError(
                f"nothing answers at {self.url} ({why}): is a server running there? {STARTING}"
            ) from None


def _message(body: str) -> str:
    """What a server says of its error: the message in OpenAI's or FastAPI's JSON, or the beginning of the text."""
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if isinstance(found, dict):
        error = found.get("error", found.get("detail"))
        body = str(error.get("message", error) if isinstance(error, dict) else error)
    return f": {body.strip()[:300]}" if body.strip() else ""
