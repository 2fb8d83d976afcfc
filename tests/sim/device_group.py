"""One of two processes that talk through gloo, on tensors of the device. Arguments: rank, and a file to meet in."""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist

import accelplug


def main(rank: int, meeting: str) -> None:
    device = accelplug.auto().torch_device
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)

    mine = torch.full((2,), float(rank + 1), device=device)
    dist.all_reduce(mine)
    assert mine.tolist() == [3, 3]

    gathered = torch.empty(4, device=device)
    dist.all_gather_into_tensor(gathered, torch.full((2,), float(rank), device=device))
    assert gathered.tolist() == [0, 0, 1, 1]
    each = [torch.empty(2, device=device) for _ in range(2)]
    dist.all_gather(each, torch.full((2,), float(rank), device=device))
    assert [x.tolist() for x in each] == [[0, 0], [1, 1]]

    part = torch.empty(2, device=device)
    dist.reduce_scatter_tensor(part, torch.arange(4.0, device=device))
    assert part.tolist() == [[0, 2], [4, 6]][rank]

    sent = torch.full((2,), float(rank), device=device)
    dist.broadcast(sent, 1)
    assert sent.tolist() == [1, 1]
    dist.barrier()

    torch.manual_seed(rank)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4).to(device))
    model(torch.full((2, 4), float(rank), device=device)).sum().backward()
    assert model.module.weight.grad.device == torch.device(device.type, 0)
    assert model.module.weight.grad.tolist() == [[1, 1, 1, 1]] * 4  # the mean of 0 and 2

    dist.destroy_process_group()
    print("talked")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
