# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest for horovod_suite: what Horovod's tests cannot know of torch."""
import torch.optim

# They give every optimizer of torch.optim a parameter of one dimension, which Muon (torch 2.9) refuses.
if hasattr(torch.optim, "Muon"):
    del torch.optim.Muon
