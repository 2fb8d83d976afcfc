"""`vllm serve` on the device: over HTTP, one and several requests at a time get the CPU's tokens."""

from __future__ import annotations

import atexit
import functools
import json
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from accelplug.conformance.checks import Skip, check, expect
from accelplug.conformance.subject import Subject
from accelplug_vllm.conformance import expected, here
from accelplug_vllm.conformance.server import LIMIT, MODEL, Server, question

REMEDY = "look at the areas vllm_worker and vllm_attention first; here vLLM's processes come on top"


@functools.cache
def _server(subject_name: str) -> dict[str, Any]:
    """The one server of this area, as ``server``; the check that starts it puts it there."""
    return {}


def _serving(subject: Subject) -> Server:
    server = _server(subject.name).get("server")
    if server is None:
        raise Skip("the server did not start")
    assert isinstance(server, Server)
    return server


@check(REMEDY, limit=LIMIT, quick=False)
def a_server_starts_on_the_device_and_answers(subject: Subject) -> None:
    server = Server(subject)
    atexit.register(server.close)
    server.wait()
    _server(subject.name)["server"] = server
    models = [model["id"] for model in json.loads(server.get("/v1/models"))["data"]]
    expect(models == [MODEL], f"its models are {models}")


@check(REMEDY, quick=False)
def each_request_gets_the_tokens_of_the_cpu(subject: Subject) -> None:
    prompts = expected.prompts()
    wrong = expected.disagreement(
        prompts, [_serving(subject).answer(prompt) for prompt in prompts], here.dtype_name(subject)
    )
    expect(not wrong, wrong)


@check("requests that are computed together must not see each other: look at masks and block tables", quick=False)
def eight_requests_at_a_time_get_them_too(subject: Subject) -> None:
    server, prompts = _serving(subject), expected.prompts((3, 90, 11, 140, 1, 33, 64, 7))
    with ThreadPoolExecutor(len(prompts)) as pool:
        answers = [*pool.map(server.answer, prompts)]
    wrong = expected.disagreement(prompts, answers, here.dtype_name(subject))
    expect(not wrong, wrong)


@check(REMEDY, quick=False)
def a_stream_has_the_same_text(subject: Subject) -> None:
    server, (prompt,) = _serving(subject), expected.prompts((20,))
    whole = server.post("/v1/completions", **question(prompt))["choices"][0]["text"]
    with server.stream("/v1/completions", **question(prompt), stream=True) as lines:
        events = [line.decode().removeprefix("data: ") for line in lines if line.strip()]
    expect(events[-1].strip() == "[DONE]", f"it ends with {events[-1]!r}")
    streamed = "".join(json.loads(event)["choices"][0]["text"] for event in events[:-1])
    expect(streamed == whole, f"streamed {streamed!r}, whole {whole!r}")


@check("a request that can't be answered has to be refused before it reaches the device", quick=False)
def a_request_that_is_too_long_is_refused_and_the_server_goes_on(subject: Subject) -> None:
    server, (prompt,) = _serving(subject), expected.prompts((here.LONGEST + 1,))
    try:
        server.post("/v1/completions", **question(prompt))
    except urllib.error.HTTPError as error:
        expect(error.code == 400, f"it was refused with {error.code}")
        error.close()
    else:
        raise AssertionError(f"{len(prompt)} tokens were taken, where {here.LONGEST} are the most")
    expect(server.healthy(), "the server isn't well any more")


@check("accelplug's metrics are registered while vLLM makes its configuration", quick=False)
def the_metrics_say_which_device_it_is(subject: Subject) -> None:
    lines = [line for line in _serving(subject).get("/metrics").splitlines() if line.startswith("accelplug_")]
    named = [line for line in lines if f'device="{subject.name}"' in line]
    expect(bool(named), f"none of {len(lines)} metrics of accelplug's names {subject.name}")
