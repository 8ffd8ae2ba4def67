# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest for horovod_suite: what Horovod's tests cannot know of torch."""
import torch.optim

# They give every optimizer of torch.optim a parameter of one dimension, which Muon (torch 2.9) refuses. They take those
# for torch's whose module is called so.
if hasattr(torch.optim, "Muon"):
    torch.optim.Muon.__module__ = "muon"
