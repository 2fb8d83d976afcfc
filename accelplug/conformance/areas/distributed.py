"""Two processes talk through the backend's collectives, on tensors of the device, and what they get is right."""

from __future__ import annotations

import functools
import json
import tempfile
from typing import Any

from accelplug.conformance.checks import NamedCheck, Skip, expect
from accelplug.conformance.programs import Program
from accelplug.conformance.subject import Subject, subject
from accelplug.specs import Worker
from accelplug.specs.capabilities import Feature

RANKS = 2
LIMIT = 50.0  # seconds for the two to do all
TRAINING = "data_parallel_training"
REMEDY = (
    "look at the collective in the backend that DeviceSpec.distributed_backend names, or leave it out of Capabilities"
)

# One of two processes. Each collective is a function; what it returns is compared with what is right for the rank.
MEMBER = """
import json, traceback
import accelplug, torch
import torch.distributed as dist
name, backend, rank, meeting, index = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
device = accelplug.select(name, index=index or None).torch_device
if index:
    torch.accelerator.set_device_index(index)
options = {"device_id": torch.device(device.type, index)} if backend == "nccl" else {}
dist.init_process_group(backend, init_method=f"file://{meeting}", rank=rank, world_size=2, **options)

def of(*values):
    return torch.tensor(values, dtype=torch.float32, device=device)

def all_reduce():
    mine = of(rank + 1, 10)
    dist.all_reduce(mine)
    return mine.tolist() == [3, 20]

def broadcast():
    mine = of(rank, rank)
    dist.broadcast(mine, 1)
    return mine.tolist() == [1, 1]

def all_gather():
    each = [of(9, 9) for _ in range(2)]
    dist.all_gather(each, of(rank, 5))
    return [x.tolist() for x in each] == [[0, 5], [1, 5]]

def all_gather_into_tensor():
    both = of(9, 9, 9, 9)
    dist.all_gather_into_tensor(both, of(rank, 5))
    return both.tolist() == [0, 5, 1, 5]

def reduce():
    mine = of(rank + 1)
    dist.reduce(mine, 0)
    return rank == 1 or mine.tolist() == [3]

def reduce_scatter_tensor():
    part = of(9, 9)
    dist.reduce_scatter_tensor(part, of(0, 1, 2, 3))
    return part.tolist() == ([0, 2], [4, 6])[rank]

def gather():
    each = [of(9) for _ in range(2)] if rank == 0 else None
    dist.gather(of(rank), each, 0)
    return rank == 1 or [x.tolist() for x in each] == [[0], [1]]

def scatter():
    mine = of(9)
    dist.scatter(mine, [of(3), of(4)] if rank == 0 else None, 0)
    return mine.tolist() == [3 + rank]

def all_to_all_single():
    mine = of(9, 9)
    dist.all_to_all_single(mine, of(10 * rank, 10 * rank + 1))
    return mine.tolist() == [rank, 10 + rank]

def send_and_recv():
    mine = of(7) if rank == 0 else of(9)
    dist.send(mine, 1) if rank == 0 else dist.recv(mine, 0)
    return mine.tolist() == [7]

def barrier():
    dist.barrier()
    return True

def data_parallel_training():
    torch.manual_seed(rank)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4).to(device))
    model(torch.full((2, 4), float(rank), device=device)).sum().backward()
    return model.module.weight.grad.tolist() == [[1, 1, 1, 1]] * 4  # the mean of 0 and 2

for collective in sys.argv[6:]:
    said = ""
    try:
        said = "" if globals()[collective]() else "the values are wrong"
    except Exception as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
    print(json.dumps({"name": collective, "said": said}), flush=True)
dist.destroy_process_group()
"""
COLLECTIVES = (
    *("all_reduce", "broadcast", "all_gather", "all_gather_into_tensor", "reduce", "reduce_scatter_tensor"),
    *("gather", "scatter", "all_to_all_single", "send_and_recv", "barrier", TRAINING),
)
NEEDS = {"send_and_recv": {"send", "recv"}, TRAINING: {"all_reduce", "broadcast"}}  # where it isn't the name itself


def checks(examined: Subject) -> list[NamedCheck]:
    """One for each collective. One group runs them all: one that hangs takes those behind it along."""
    return [NamedCheck(name.replace("_", " "), functools.partial(_check, name), REMEDY) for name in COLLECTIVES]


def _check(collective: str, examined: Subject) -> dict[str, Any]:
    spec = examined.spec
    if not spec.distributed_backend:
        raise Skip("DeviceSpec.distributed_backend is empty: several processes can't work together")
    if examined.exclusive and examined.candidate.count < RANKS:
        raise Skip("the device can be open in one process only, and there is one")
    if reason := examined.cannot(Feature.eager_collectives):
        raise Skip(reason)
    if collective == TRAINING and (reason := examined.cannot(Feature.training)):
        raise Skip(reason)
    wanted = _offered(examined)
    if collective not in wanted:
        raise Skip(f"not among the backend's collectives: {', '.join(wanted)}")
    for rank, (said, end) in enumerate(_answers(examined.name, spec.distributed_backend, wanted)):
        expect(collective in said, f"rank {rank} gave no answer: {end}")
        expect(not said[collective], f"rank {rank}: {said[collective]}")
    return {"backend": spec.distributed_backend, "devices": min(RANKS, examined.candidate.count)}


def _offered(examined: Subject) -> tuple[str, ...]:
    offered = examined.capabilities.collectives
    ours = [name for name in COLLECTIVES if offered is None or NEEDS.get(name, {name}) <= {*offered}]
    return tuple(name for name in ours if name != TRAINING or not examined.cannot(Feature.training))


@functools.cache
def _answers(device: str, backend: str, collectives: tuple[str, ...]) -> list[tuple[dict[str, str], str]]:
    """For each rank what it says of each collective ("" where it is right), and how it ended."""
    examined = subject(device)
    with tempfile.TemporaryDirectory() as folder:
        members = [
            Program(
                MEMBER,
                *(device, backend, str(rank), f"{folder}/meeting", str(_index(examined, rank)), *collectives),
                **_environment(examined, rank),
            )
            for rank in range(RANKS)
        ]
        return [_answer(member) for member in members]


def _answer(member: Program) -> tuple[dict[str, str], str]:
    said, end = member.until_the_end(LIMIT)
    lines = [json.loads(line) for line in said.splitlines() if line.startswith('{"name"')]
    return {line["name"]: line["said"] for line in lines}, end


def _index(examined: Subject, rank: int) -> int:
    """Which of the devices that it sees a rank takes: its own, where its environment doesn't see to that."""
    alone = examined.candidate.count < RANKS or examined.spec.visible_devices in _environment(examined, rank)
    return 0 if alone else rank


def _environment(examined: Subject, rank: int) -> dict[str, str]:
    """What the backend gives each worker; nothing where they share one device, as there is none to deal out."""
    worker_env = examined.spec.worker_env
    if worker_env is None or examined.candidate.count < RANKS:
        return {}
    return worker_env(Worker(rank=rank, local_rank=rank, world_size=RANKS, device=rank))
