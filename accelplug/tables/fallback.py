"""The ledger of the live device: policy and budgets from settings and from code, and the report.

`ledger.Ledger` is the account itself; this is what people call.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from accelplug import budgets, settings
from accelplug.errors import AccelplugError, BadInputError, did_you_mean
from accelplug.files import require_folder
from accelplug.notices import log
from accelplug.specs import (
    Budget,
    DeviceSpec,
    FallbackReport,
    FallbackSource,
    KernelCount,
    StepTransfers,
    Transfers,
)
from accelplug.tables.kernels import KernelTable
from accelplug.tables.ledger import POLICIES, Ledger, Policy

_lock = threading.RLock()
_ledgers: dict[str, Ledger] = {}  # by device, in the order in which they were made live
_standing = contextlib.ExitStack()  # what the settings say, for as long as the process runs


def begin(spec: DeviceSpec, source: FallbackSource | None, kernels: KernelTable | None = None) -> None:
    """Begins the ledger of a device that has just been made live, under the policy and budgets of the settings.

    ``kernels`` are those that it brings. A second time it does nothing. Raises BadInputError for what the device's SDK
    can't do.
    """
    with _lock:
        if spec.name in _ledgers:
            return
        values = settings.read().values
        report = _report_path(values.report)
        if not _ledgers:
            # At exit, while modules are there. What is registered first runs last, so the report is written before.
            atexit.register(_standing.close)
        ledger = Ledger(spec, source, kernels)
        limits = budgets.parse(values.fallback_budget)
        _standing.enter_context(ledger.scope(values.fallback, limits, values.fallback_time == "on"))
        _ledgers[spec.name] = ledger
        if report is not None and len(_ledgers) == 1:
            _write_at_exit(report)


def fallback(
    *,
    policy: Policy | None = None,
    calls: int | None = None,
    bytes: int | str | None = None,
    ops: Mapping[str, int | str] | None = None,
    time: bool = False,
) -> contextlib._GeneratorContextManager[None]:
    """What may fall back from the device to the CPU inside a ``with`` block, or in a decorated function.

    policy
        ``"allow"``, ``"warn"`` or ``"error"``; None: what holds outside.
    calls, bytes
        How much may fall back inside, in all; ``bytes`` is a number or text such as ``"1MiB"``. 0 allows nothing.
    ops
        Pattern of operators to how much of them may: calls as a number, or ``"bytes=1MiB"``.
    time
        Whether each operator's time is measured, which costs some 30 ns a call.

    All of it holds for the process, also for other threads. Budgets outside go on besides. Beyond one, the operator
    raises FallbackRefusedError, and so does any one that would fall back under ``"error"``.
    Raises BadInputError for a bad argument or what the device can't do, AccelplugError where no device is live.
    """
    if policy is not None and policy not in POLICIES:
        raise BadInputError(
            f"policy {policy!r} is unknown{did_you_mean(policy, POLICIES)}; allowed: {', '.join(POLICIES)}"
        )
    limits = [Budget(unit="calls", limit=_natural(calls))] if calls is not None else []
    if bytes is not None:
        limits.append(Budget(unit="bytes", limit=budgets.parse_size(bytes)))
    for pattern, limit in (ops or {}).items():
        limits += budgets.parse(f"{pattern}:calls={limit}" if isinstance(limit, int) else f"{pattern}:{limit}")
    return _scope(policy, tuple(limits), time)


@contextlib.contextmanager
def _scope(policy: Policy | None, limits: tuple[Budget, ...], time: bool) -> Iterator[None]:
    with live().scope(policy, limits, time):
        yield


def fallback_report(reset: bool = False) -> FallbackReport:
    """What fell back from the live device to the CPU since it was made live, or since the last ``reset``.

    ``reset`` begins anew after it, budgets too. Raises AccelplugError where no device is live in this process.
    """
    return live().report(reset)


def live() -> Ledger:
    """The ledger of the device that was made live last; one whose SDK counts comes before one whose doesn't.

    Raises AccelplugError where no device is live.
    """
    ledgers = sorted(_ledgers.values(), key=lambda ledger: ledger.source is not None)
    if not ledgers:
        raise AccelplugError("no device is live in this process, so nothing is counted; accelplug.auto() comes first")
    return ledgers[-1]


def totals(*, native: bool) -> dict[tuple[str, str], tuple[int, int]]:
    """Calls and bytes of what the live devices ran themselves, or the CPU ran in their place, by operator and device.

    What an SDK doesn't count isn't in here.
    """
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for ledger in list(_ledgers.values()):
        device_type = ledger.spec.torch_type
        for count in ledger.source.read() if ledger.source is not None else ():
            if count.native is native and count.calls is not None:
                key = (count.op, device_type if count.device is None else f"{device_type}:{count.device}")
                calls, moved = found.get(key, (0, 0))
                found[key] = (calls + count.calls, moved + (count.bytes or 0))
    return found


def kernel_counts() -> list[tuple[str, KernelCount]]:
    """The kernels of the live devices that ran calls, eagerly, with the device type."""
    return [(each.spec.torch_type, count) for each in list(_ledgers.values()) for count in each.kernel_counts()]


def transfers() -> dict[str, Transfers]:
    """The copies of the live devices, by device type. Those whose SDK doesn't count them aren't in here."""
    found = {}
    for ledger in list(_ledgers.values()):
        if ledger.source is not None and ledger.source.transfers is not None:
            found[ledger.spec.torch_type] = ledger.source.transfers()
    return found


def steps() -> dict[str, StepTransfers]:
    """The steps of the live devices with the copies in them, by device type. Those without a step aren't in here."""
    read = {ledger.spec.torch_type: ledger.steps.read() for ledger in list(_ledgers.values())}
    return {device_type: counted for device_type, counted in read.items() if counted is not None}


def forget() -> None:
    """Ends all ledgers, as a test that installs backends needs."""
    with _lock:
        _standing.close()
        _ledgers.clear()


def _natural(number: int) -> int:
    if number < 0:
        raise BadInputError(f"calls={number} is below 0; 0 allows no fallback")
    return number


def _report_path(template: str) -> Path | None:
    """The file that the setting names. Raises BadInputError where its folder isn't there."""
    if not template:
        return None
    path = Path(template.format(pid=os.getpid())).absolute()
    require_folder(path, f"the report can't be written to {path}")
    return path


def _write_at_exit(path: Path) -> None:
    """Writes the report when this process ends, and not when a forked child does."""
    pid = os.getpid()

    def write() -> None:
        if os.getpid() != pid or not _ledgers:
            return
        try:
            fallback_report().save(path)
        except BadInputError as error:
            log.error("%s", error)

    atexit.register(write)
