"""A server ends when it is told to, or when its engine dies, and leaves no process; the device can be used again."""

from __future__ import annotations

import functools
import time
from typing import Any

from accelplug.conformance.checks import Skip, check, expect
from accelplug.conformance.subject import Subject
from accelplug_vllm.conformance import expected, here
from accelplug_vllm.conformance.server import LIMIT, Server, question

REMEDY = "see which process is left, and what it waits for; SDKs must not keep threads that block a process's end"
PROMPT = 20  # tokens
PATIENCE = 2.0  # seconds that a client waits on for its answer after the server was told to stop


@functools.cache
def _kept(subject_name: str) -> dict[str, Any]:
    """What the checks leave each other: the first server's ``port`` and ``answer``, and the second ``server``."""
    return {}


def _prompt() -> list[int]:
    return expected.prompts((PROMPT,))[0]


@check(REMEDY, limit=LIMIT, quick=False)
def a_server_that_is_told_to_stop_ends_with_a_request_under_way(subject: Subject) -> dict[str, Any]:
    server = Server(subject)
    try:
        server.wait()
        _kept(subject.name).update(port=server.port, answer=server.answer(_prompt()))
        started = server.processes()
        long = question(_prompt()) | {"max_tokens": here.LONGEST - PROMPT, "stream": True}
        with server.stream("/v1/completions", **long) as lines:
            next(iter(lines))
            since = time.perf_counter()
            server.stop()
            time.sleep(PATIENCE)  # a client that never went would be waited for by the HTTP server, not by the device
        server.has_ended(started)
        return {"processes": len(started), "seconds": round(time.perf_counter() - since, 1)}
    finally:
        server.close()


@check(
    "something of the server before is still there: its port, a lock, or the device itself", limit=LIMIT, quick=False
)
def another_one_starts_on_the_same_port_and_says_the_same(subject: Subject) -> None:
    before = _kept(subject.name)
    if "answer" not in before:
        raise Skip("the first server did not get as far")
    server = Server(subject, before["port"])
    try:
        server.wait()
        answer = server.answer(_prompt())
        expect(answer == before["answer"], f"first {before['answer']}, now {answer}")
    except BaseException:
        server.close()
        raise
    before["server"] = server


@check(REMEDY, limit=LIMIT, quick=False)
def a_server_whose_engine_is_killed_ends_too(subject: Subject) -> dict[str, Any]:
    server = _kept(subject.name).get("server")
    if server is None:
        raise Skip("the second server did not start")
    assert isinstance(server, Server)
    try:
        started = server.processes()
        engines = [process for process in started if "EngineCore" in process.name() + " ".join(process.cmdline())]
        expect(len(engines) == 1, f"of {len(started)} processes {len(engines)} are named EngineCore")
        engines[0].kill()
        since = time.perf_counter()
        code = server.has_ended(started)  # 0 with vLLM 0.32: not the device's fault
        return {"code": code, "seconds": round(time.perf_counter() - since, 1)}
    finally:
        server.close()
