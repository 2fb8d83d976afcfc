"""The ledger of one device: what fell back to the CPU in this process, and whether that may go on.

The device's SDK counts (`FallbackSource`); this says what is allowed, notices where in the user's code an operator
fell back first, and makes the report. All of it is of the process, not of a thread: autograd has threads of its own.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, get_args

import accelplug
from accelplug import call_site
from accelplug.errors import BadInputError, FallbackRefusedError
from accelplug.notices import log
from accelplug.specs import Budget, DeviceSpec, FallbackReport, FallbackSource, Host, KernelCount
from accelplug.tables import fallback_rows
from accelplug.tables.steps import Steps

if TYPE_CHECKING:
    from accelplug.tables.kernels import KernelTable

Policy = Literal["allow", "warn", "error"]
POLICIES: tuple[Policy, ...] = get_args(Policy)


class Ledger:
    """The account of one device. ``source`` is None where its SDK has none; ``policy`` is what holds now.

    ``kernels`` are its kernels, None where it brings none. A framework's adapter writes down in ``implementations``
    what runs its layers, and calls ``steps`` around its steps.
    """

    def __init__(self, spec: DeviceSpec, source: FallbackSource | None, kernels: KernelTable | None = None) -> None:
        self.spec = spec
        self.source = source
        self._kernels = kernels
        self.implementations: dict[str, tuple[str, ...]] = {}
        self.steps = Steps(source.transfers if source else None)
        self._lock = threading.RLock()
        self.policy: Policy = "allow"
        self._policies: list[tuple[object, Policy]] = []  # the last one holds
        self._budgets: list[Budget] = []
        self._timed = 0
        self._sites: dict[tuple[str, bool], str] = {}  # by operator, and whether in a compiled graph
        self._said: set[tuple[str, int]] = set()
        self._since = time.monotonic()
        if source is not None and source.watch is not None:
            source.watch(self)

    @contextlib.contextmanager
    def scope(self, policy: Policy | None, limits: Sequence[Budget], timed: bool) -> Iterator[None]:
        """Inside, ``policy`` holds (None: the one outside goes on), and ``limits`` besides those outside.

        Raises BadInputError, before anything is changed, for what the device's SDK can't do.
        """
        self._require(policy, limits, timed)
        with contextlib.ExitStack() as undo:
            if policy is not None:
                undo.enter_context(self._under(policy))
            for budget in limits:
                undo.enter_context(self._within(budget))
            if timed:
                undo.enter_context(self._timing())
            yield

    def kernel_counts(self) -> list[KernelCount]:
        """The device's kernels that ran calls, eagerly."""
        return [count for count in self._kernels.counts() if count.calls] if self._kernels is not None else []

    def report(self, reset: bool = False) -> FallbackReport:
        """What fell back since the last reset. ``reset`` begins anew, budgets too."""
        with self._lock:
            source = self.source
            counts = source.read() if source else ()
            native = fallback_rows.native(counts)
            made = FallbackReport(
                device=self.spec.name,
                torch_type=self.spec.torch_type,
                simulated=self.spec.stand_in is not None,
                counted=source is not None,
                torch_version=Host().version("torch") or "",
                accelplug_version=accelplug.__version__,
                policy=self.policy,
                budgets=tuple(map(str, self._budgets)),
                time_measured=self._timed > 0,
                process=os.getpid(),
                seconds=time.monotonic() - self._since,
                rows=fallback_rows.rows(counts, self._sites, self._why),
                native_calls=native[0],
                native_bytes=native[1],
                kernels=tuple(self.kernel_counts()),
                implementations=self.implementations,
                transfers=source.transfers() if source and source.transfers else None,
                steps=self.steps.read(),
                notes=fallback_rows.notes(self.spec, source, counts, self._timed > 0),
            )
            if reset:
                self._reset()
            return made

    # What the source tells: see Watcher

    def noticed(self, op: str, device: int, calls: int, first: bool, site: str) -> None:
        if first:
            self._sites.setdefault((op, bool(site)), site or call_site.here())
        if self.policy == "warn":
            self._say(op, calls, first, site)

    def refused(self, op: str, device: int, budget: Budget | None, spent: int, site: str) -> Exception:
        here = site or call_site.here()
        first = self._sites.get((op, bool(site)), here)
        simulated = " (simulated)" if self.spec.stand_in else ""
        if budget is None:
            why = f"policy 'error' forbids {op} to fall back to the CPU"
        elif budget.unit == "calls":
            why = f"budget {budget} allows {budget.limit:,} calls to fall back to the CPU, and {op} is call {spent:,}"
        else:
            why = (
                f"budget {budget} allows {budget.limit:,} bytes to fall back to the CPU, and with {op} it is {spent:,}"
            )
        where = here or "a place that Python does not know"
        before = f", first at {first}" if first != here else ""
        return FallbackRefusedError(
            f"{self.spec.torch_type}:{device}{simulated}: {why}, at {where}{before} "
            f"({fallback_rows.reason(op, self._why)}). Use an operator that the device has, or allow more: "
            "accelplug.fallback(…), ACCELPLUG_FALLBACK, ACCELPLUG_FALLBACK_BUDGET; accelplug.fallback_report() lists "
            "what fell back"
        )

    def _why(self, op: str) -> str:
        return self._kernels.why_not(op) if self._kernels is not None else ""

    def _say(self, op: str, calls: int, first: bool, site: str) -> None:
        if (op, calls) in self._said:  # another of the device's indices has come that far
            return
        self._said.add((op, calls))
        if first:
            where = self._sites.get((op, bool(site)))
            log.warning(
                "%s falls back from %s to the CPU%s: %s",
                op,
                self.spec.torch_type,
                f", first at {where}" if where else "",
                fallback_rows.reason(op, self._why),
            )
        else:
            log.warning("%s has fallen back from %s to the CPU %s times", op, self.spec.torch_type, f"{calls:,}")

    def _reset(self) -> None:
        if self.source is not None:
            self.source.reset()
        if self._kernels is not None:
            self._kernels.reset_counts()
        self.steps.reset()
        self._sites.clear()
        self._said.clear()
        self._since = time.monotonic()

    def _require(self, policy: Policy | None, limits: Sequence[Budget], timed: bool) -> None:
        source, name = self.source, self.spec.name
        if source is None and self.spec.load is None:  # PyTorch's own device: where it has no kernel, it raises
            return
        if policy == "error" and not (source and source.forbid):
            raise BadInputError(f"policy 'error' is not possible on {name}: its SDK can't be told not to fall back")
        if policy == "warn" and not (source and source.watch):
            raise BadInputError(f"policy 'warn' is not possible on {name}: its SDK doesn't tell when it falls back")
        if limits and not (source and source.limit):
            raise BadInputError(f"budget {limits[0]} is not possible on {name}: its SDK doesn't count what falls back")
        if timed and not (source and source.measure_time):
            raise BadInputError(f"time can't be measured on {name}: its SDK doesn't say what fallbacks take")
        for budget in limits:
            fallback_rows.require_operators(budget)

    @contextlib.contextmanager
    def _under(self, policy: Policy) -> Iterator[None]:
        entry = (object(), policy)
        with self._lock:
            self._policies.append(entry)
            self._apply()
        try:
            yield
        finally:
            with self._lock:
                self._policies.remove(entry)
                self._apply()

    def _apply(self) -> None:
        self.policy = self._policies[-1][1] if self._policies else "allow"
        if self.source is not None and self.source.forbid is not None:
            self.source.forbid(self.policy == "error")

    @contextlib.contextmanager
    def _within(self, budget: Budget) -> Iterator[None]:
        if self.source is None or self.source.limit is None:  # nothing falls back
            yield
            return
        with self._lock:
            lift = self.source.limit(budget)
            self._budgets.append(budget)
        try:
            yield
        finally:
            with self._lock:
                lift()
                self._budgets.remove(budget)

    @contextlib.contextmanager
    def _timing(self) -> Iterator[None]:
        if self.source is None or self.source.measure_time is None:
            yield
            return
        with self._lock:
            self._timed += 1
            self.source.measure_time(True)
        try:
            yield
        finally:
            with self._lock:
                self._timed -= 1
                self.source.measure_time(self._timed > 0)
