# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest for horovod_suite: what Horovod's tests cannot know of torch."""
try:
    import torch.optim as optim
except ImportError:  # an environment of TensorFlow
    optim = None

# They give every optimizer of torch.optim a parameter of one dimension, which Muon (torch 2.9) refuses. They take those
# for torch's whose module is called so.
if hasattr(optim, "Muon"):
    optim.Muon.__module__ = "muon"
