"""A server's ``GET /metrics``: the samples in Prometheus' text, to be asked by name and label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from accelplug.errors import AccelplugError
from accelplug.servers.client import Server, StatusError

PREFIXES = ("vllm:", "accelplug_")


class NotVllmError(AccelplugError):
    """A server answers that is none of vLLM's."""


@dataclass(frozen=True)
class Sample:
    """One number. ``name`` is as in the text: ``vllm:generation_tokens_total``."""

    name: str
    labels: Mapping[str, str]
    value: float


class Samples:
    """All numbers of one scrape that are vLLM's or accelplug's."""

    def __init__(self, samples: Iterator[Sample]) -> None:
        self._by_name: dict[str, list[Sample]] = defaultdict(list)
        for sample in samples:
            self._by_name[sample.name].append(sample)

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def names(self) -> set[str]:
        """Those there are."""
        return set(self._by_name)

    def of(self, name: str) -> list[Sample]:
        """The samples of that name, in their order."""
        return self._by_name.get(name, [])

    def total(self, name: str) -> float | None:
        """The sum over all labels; None where there is none."""
        found = self.of(name)
        return sum(sample.value for sample in found) if found else None

    def sums(self, name: str, *labels: str) -> dict[tuple[str, ...], float]:
        """The sums by these labels."""
        found: dict[tuple[str, ...], float] = defaultdict(float)
        for sample in self.of(name):
            found[tuple(sample.labels.get(label, "") for label in labels)] += sample.value
        return dict(found)


def parsed(text: str) -> Samples:
    """The samples of a text. Raises ValueError where it is none of Prometheus'."""
    from prometheus_client.parser import text_string_to_metric_families

    return Samples(
        Sample(sample.name, sample.labels, sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith(PREFIXES)
    )


def scraped(server: Server) -> Samples:
    """What the server says now. Raises NoAnswerError where nothing answers, NotVllmError where it is no vLLM."""
    try:
        found = parsed(server.get("/metrics"))
    except StatusError as error:
        raise NotVllmError(f"{error}; a vLLM server has its metrics there") from None
    except ValueError:
        raise NotVllmError(
            f"{server.url}/metrics answers, but not as Prometheus' text: this is no vLLM server"
        ) from None
    if not found:
        raise NotVllmError(
            f"{server.url}/metrics answers, but has no metric of vLLM's or accelplug's: this is no vLLM server"
        )
    return found
