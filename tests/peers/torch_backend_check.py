#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""torch.distributed over the backend batchai; with "hook", DDP over Gloo with the library's hook.

"gpu": with tensors in a GPU's memory, if there is one.
"""
import os
import re
import sys

import horovod.torch.distributed as backend
import torch
import torch.distributed as dist

HOOK = sys.argv[1:] == ["hook"]
DEVICE = "cuda" if sys.argv[1:] == ["gpu"] and torch.cuda.is_available() else "cpu"
if DEVICE == "cuda":
    torch.set_default_device(DEVICE)
dist.init_process_group("gloo" if HOOK else "batchai")
RANK, SIZE = dist.get_rank(), dist.get_world_size()


def train():
    torch.manual_seed(RANK)  # DDP gives all ranks those of rank 0
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    model = torch.nn.parallel.DistributedDataParallel(model)
    if HOOK:
        model.register_comm_hook(None, backend.allreduce_hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(20):
        inputs = torch.randn(32, 8)
        loss = ((model(inputs) - inputs.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0], losses
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    everything = [torch.empty_like(weights) for _ in range(SIZE)]
    dist.all_gather(everything, weights)
    assert all(torch.equal(one, weights) for one in everything)


def of(rank):
    return torch.arange(4.0) + 10 * rank


def collectives():
    total = sum(of(rank) for rank in range(SIZE))
    tensor = of(RANK)
    work = dist.all_reduce(tensor, async_op=True)
    assert work.wait() and torch.equal(tensor, total)
    tensor = of(RANK)
    dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
    assert torch.equal(tensor, of(SIZE - 1))
    tensor = of(RANK)
    dist.reduce(tensor, SIZE - 1)
    assert torch.equal(tensor, total if RANK == SIZE - 1 else of(RANK))
    tensor = of(RANK)
    dist.broadcast(tensor, SIZE - 1)
    assert torch.equal(tensor, of(SIZE - 1))
    parts = [torch.empty(4) for _ in range(SIZE)] if RANK == 0 else None
    dist.gather(of(RANK), parts)
    assert RANK != 0 or all(torch.equal(part, of(rank)) for rank, part in enumerate(parts))
    tensor = torch.empty(4)
    dist.scatter(tensor, [of(rank) for rank in range(SIZE)] if RANK == 1 else None, src=1)
    assert torch.equal(tensor, of(RANK))
    tensor = torch.empty(4 * SIZE)
    dist.all_gather_into_tensor(tensor, of(RANK))
    assert torch.equal(tensor, torch.cat([of(rank) for rank in range(SIZE)]))
    tensor = torch.empty(4)
    dist.reduce_scatter_tensor(tensor, torch.cat([of(RANK)] * SIZE))
    assert torch.equal(tensor, total)
    dist.reduce_scatter(tensor, [of(RANK) * (rank + 1) for rank in range(SIZE)])
    assert torch.equal(tensor, total * (RANK + 1))
    sent = [torch.full((to + 1,), float(RANK)) for to in range(SIZE)]
    received = [torch.empty(RANK + 1) for _ in range(SIZE)]
    dist.all_to_all(received, sent)
    assert all(torch.equal(one, torch.full((RANK + 1,), float(rank)))
               for rank, one in enumerate(received))
    tensor = torch.empty(SIZE)
    dist.all_to_all_single(tensor, torch.full((SIZE,), float(RANK)))
    assert torch.equal(tensor, torch.arange(float(SIZE)))
    one, other = of(RANK), of(RANK) + 1
    with dist.distributed_c10d._coalescing_manager():
        dist.all_reduce(one)
        dist.all_reduce(other)
    assert torch.equal(one, total) and torch.equal(other, total + SIZE)
    tensors = [torch.empty(4 * SIZE) for _ in range(2)]
    with dist.distributed_c10d._coalescing_manager():
        for tensor in tensors:
            dist.all_gather_into_tensor(tensor, of(RANK))
    assert all(torch.equal(tensor, torch.cat([of(rank) for rank in range(SIZE)])) for tensor in tensors)
    dist.barrier()
    assert not backend._under_way, f"not freed: {backend._under_way}"


def refusals():
    """What does not fit is refused, also where the sum of all counts is right; the group goes on."""
    one, many = torch.ones(2), torch.ones(2 * SIZE)
    moved = [1, 3] + [2] * (SIZE - 2)  # room for as many elements in all, not for each rank's
    turned = [RANK + 1] * SIZE  # rank r sends r + 1 to each, and gets 1, 2, 3 ...
    for said, operation, arguments in (
            ("different types: torch.float32, torch.int32", dist.all_gather_into_tensor, (many.int(), one)),
            ("different types: torch.float32, torch.int32", dist.reduce_scatter_tensor, (one.int(), many)),
            (r"inputs have \[%d\] elements, the outputs room for \[%d\]" % (2 * SIZE + 1, 3 * SIZE),
             dist.reduce_scatter_tensor, (torch.ones(3), torch.ones(2 * SIZE + 1))),
            ("the outputs room for", dist.all_gather_into_tensor, (torch.ones(2 * SIZE + 1), one)),
            ("the outputs room for", dist.all_gather, ([torch.ones(size) for size in moved], one)),
            ("the outputs room for", dist.all_to_all, ([torch.ones(size) for size in moved], [one] * SIZE)),
            ("the outputs room for", dist.all_to_all_single, (many, many, moved)),
            ("the outputs room for", dist.all_to_all_single,
             (torch.ones(sum(range(SIZE + 1))), torch.ones(sum(turned)), [*range(SIZE, 0, -1)], turned)),
            (r"are not the %d of" % (2 * SIZE), dist.all_to_all_single, (many, many, moved[1:] + [2])),
            ("the outputs room for", dist.reduce_scatter, (torch.ones(3), [one] * SIZE)),
            ("the outputs room for", dist.scatter, (torch.ones(3), [one] * SIZE if RANK == 0 else None)),
            ("reduction BXOR is not supported: use AVG, ", dist.all_reduce, (one.int(), dist.ReduceOp.BXOR))):
        if DEVICE == "cuda" and "BXOR" in said:
            continue
        try:
            operation(*arguments)
        except RuntimeError as error:
            assert re.search(said, str(error)), (operation, error)
        else:
            raise AssertionError(f"{operation.__name__}{arguments} was not refused")
    # Equal counts of other shapes, an expanded input, and as many elements as each rank sends.
    shaped = [torch.empty(2, 2) for _ in range(SIZE)]
    dist.all_gather(shaped, of(RANK))
    assert all(torch.equal(tensor.flatten(), of(rank)) for rank, tensor in enumerate(shaped))
    tensor = torch.full((1, 2), RANK + 1.0).t().expand(2, 3)
    dist.all_reduce(tensor)
    dist.reduce(tensor, 0)
    expected = SIZE * (SIZE + 1) / 2 * (SIZE if RANK == 0 else 1)
    assert torch.equal(tensor, torch.full((2, 3), expected)), tensor
    tensor = torch.empty(SIZE, 2, 2)
    dist.all_gather_into_tensor(tensor, torch.full((1,), float(RANK)).expand(4))
    assert torch.equal(tensor[:, 1, 1], torch.arange(float(SIZE)))
    uneven = [torch.empty(rank + 1) for rank in range(SIZE)]
    dist.all_gather(uneven, torch.full((RANK + 1,), float(RANK)))
    assert all(torch.equal(tensor, torch.full((rank + 1,), float(rank))) for rank, tensor in enumerate(uneven))
    received = torch.empty(sum(range(SIZE + 1)))
    dist.all_to_all_single(received, torch.full((sum(turned),), float(RANK)), [*range(1, SIZE + 1)], turned)
    assert torch.equal(received, torch.cat(uneven))


def objects_and_messages():
    everything = [None] * SIZE
    dist.all_gather_object(everything, {"rank": RANK})
    assert everything == [{"rank": rank} for rank in range(SIZE)]
    box = ["from 0" if RANK == 0 else None]
    dist.broadcast_object_list(box, 0)
    assert box == ["from 0"]
    tensor = torch.empty(1)
    if RANK == 0:
        dist.send(torch.tensor([7.0]), 1)
    elif RANK == 1:
        dist.recv(tensor, 0)
        assert tensor.item() == 7


def groups():
    members = list(range(1, SIZE))
    part, whole = dist.new_group(members), dist.new_group(list(range(SIZE)))
    for group, ranks in ((part, members), (whole, list(range(SIZE)))):
        if RANK in ranks:
            tensor = torch.tensor([float(RANK)])
            dist.all_reduce(tensor, group=group)
            assert tensor.item() == sum(ranks)
            assert dist.get_backend(group) == "batchai"
    if RANK in members:
        tensor = of(RANK)
        dist.broadcast(tensor, SIZE - 1, group=part)
        assert torch.equal(tensor, of(SIZE - 1))


def groups_in_different_orders():
    """Rows and columns of a grid, which no two neighbours use in the same order."""
    rows, columns = [], []
    for number in range(2):
        rows.append(dist.new_group([2 * number, 2 * number + 1]))
        columns.append(dist.new_group([number, number + 2]))
    row, column = torch.tensor([float(RANK)]), torch.tensor([float(RANK)])
    works = [(row, rows[RANK // 2]), (column, columns[RANK % 2])]
    if RANK in (1, 2):
        works.reverse()
    works = [dist.all_reduce(tensor, group=group, async_op=True) for tensor, group in works]
    for work in works:
        work.wait()
    assert row.item() == 4 * (RANK // 2) + 1 and column.item() == 2 * (RANK % 2) + 2


def groups_by_themselves():
    """No other rank than the group's takes part in making it."""
    mine = [RANK // 2 * 2, RANK // 2 * 2 + 1]
    group = dist.new_group(mine, use_local_synchronization=True)
    tensor = torch.tensor([float(RANK)])
    dist.all_reduce(tensor, group=group)
    assert tensor.item() == sum(mine)
    dist.destroy_process_group(group)


def shard():
    """FSDP beside the same training by one process, over all ranks and over rows of a grid."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    def trained(wrap):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
        wrap(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(5):
            inputs = torch.arange(64.0).reshape(8, 8) / 64 + step
            model(inputs).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        return [parameter.detach() for parameter in model.parameters()]

    alone = trained(lambda model: None)
    for shape, names in (((SIZE,), ("shard",)), ((2, SIZE // 2), ("replicate", "shard"))):
        mesh = init_device_mesh(DEVICE, shape, mesh_dim_names=names)
        for whole, part in zip(alone, trained(lambda model: fully_shard(model, mesh=mesh))):
            assert torch.allclose(whole, part.full_tensor(), atol=1e-5)


train()
if not HOOK:
    assert dist.get_backend() == "batchai"
    collectives()
    objects_and_messages()
    # While all ranks have made as many groups: until torch 2.15, the name of one that is made by itself has their number
    # in it, and ranks that differ wait for each other.
    groups_by_themselves()
    groups()
    groups_in_different_orders()
    shard()
    refusals()
dist.barrier()
os.write(1, f"rank {RANK} of {SIZE} is fine\n".encode())  # a line in one write stays whole
