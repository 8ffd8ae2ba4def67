#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A small training with horovod.torch: the loss falls, and all ranks end with the same weights."""
import os

import horovod.torch as hvd
import torch

hvd.init()
torch.manual_seed(hvd.rank())
model = torch.nn.Linear(8, 1)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                     named_parameters=model.named_parameters())
inputs = torch.randn(64, 8)
losses = []
for _ in range(20):
    optimizer.zero_grad()
    loss = ((model(inputs) - inputs.sum(1, keepdim=True)) ** 2).mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0] / 2, losses
weights = hvd.allgather(model.weight.data)
assert all(torch.equal(one, weights[0]) for one in weights)
os.write(1, f"rank {hvd.rank()} of {hvd.size()} is fine\n".encode())  # a line in one write stays whole
hvd.shutdown()
