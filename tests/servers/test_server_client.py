"""Asking servers over HTTP: which URLs there are, and what is said where one doesn't answer."""

from __future__ import annotations

import socket

import pytest

from accelplug.errors import BadInputError
from accelplug.servers.client import NoAnswerError, Server, StatusError
from accelplug.servers.exposition import NotVllmError, scraped
from tests.servers.web import answering


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("localhost:8000", "http://localhost:8000"),
        ("http://localhost:8000/", "http://localhost:8000"),
        ("http://localhost:8000/metrics", "http://localhost:8000"),
        ("https://box/model/v1/", "https://box/model"),
        ("[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_a_url_is_taken_as_people_write_it(url: str, meant: str) -> None:
    assert Server(url).url == meant


@pytest.mark.parametrize("url", ["", "http://", "ftp://box", "localhost:port", "http://box:99999"])
def test_what_is_no_url_is_an_error_with_an_example(url: str) -> None:
    with pytest.raises(BadInputError, match="is not the URL of a server; one is http://localhost:8000"):
        Server(url)


def test_where_nothing_listens_the_error_says_so_and_how_to_start_one() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(NoAnswerError, match=rf"nothing answers at {url} \(Connection refused\).*vllm serve MODEL"):
            Server(url).get("/metrics")


def test_a_server_that_is_silent_is_not_waited_for_for_ever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = Server(f"127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(NoAnswerError, match=r"/metrics has not answered for 0\.2 s"):
            server.get("/metrics", timeout=0.2)


@pytest.mark.parametrize(
    "body", ['{"error": {"message": "no such model"}}', '{"detail": "no such model"}', "no such model"]
)
def test_an_error_of_the_server_s_is_said_with_its_status_and_message(body: str) -> None:
    with answering(lambda method, path: (404, body)) as url:
        with pytest.raises(StatusError, match="/v1/models answers 404 Not Found: no such model") as caught:
            Server(url).get("/v1/models")
        assert caught.value.status == 404


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (404, "", "answers 404 Not Found; a vLLM server has its metrics there"),
        (200, "<html>hello</html>", "not as Prometheus' text: this is no vLLM server"),
        (200, "python_info 1.0\n", "has no metric of vLLM's or accelplug's: this is no vLLM server"),
    ],
)
def test_what_is_no_vllm_is_told_so(status: int, body: str, why: str) -> None:
    with answering(lambda method, path: (status, body)) as url, pytest.raises(NotVllmError, match=why):
        scraped(Server(url))
