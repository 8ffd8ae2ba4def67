#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""torch.distributed with its env:// rendezvous, as torchrun would start it."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.full((1000,), float(dist.get_rank() + 1))
dist.all_reduce(total)
size = dist.get_world_size()
assert torch.all(total == size * (size + 1) / 2)
os.write(1, f"rank {dist.get_rank()} of {size} is fine\n".encode())  # a line in one write stays whole
dist.destroy_process_group()
