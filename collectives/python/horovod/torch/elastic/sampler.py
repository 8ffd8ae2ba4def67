# SPDX-License-Identifier: Apache-2.0
"""The share of a data set's samples for this rank, in jobs whose number of ranks may change."""
import math
import random

import torch.utils.data

from horovod.common import basics


class ElasticSampler(torch.utils.data.Sampler):
    """Divides the remaining samples of an epoch among the current ranks.

    dataset: of known length. shuffle: in an order from seed and epoch, the same on all ranks. Every
    rank gets the same number of samples; if they do not divide evenly, the first ones come twice.
    The script reports used samples by record_batch(), and begins an epoch with set_epoch().
    processed_num: how many samples of the epoch all ranks have used; they come first in its order.
    """

    def __init__(self, dataset, shuffle=True, seed=0):
        self.dataset, self.shuffle, self.seed = dataset, shuffle, seed
        self.set_epoch(0)

    def set_epoch(self, epoch):
        """Begins this epoch, with all of its samples."""
        self.load_state_dict({"epoch": epoch, "processed_num": 0})

    def record_batch(self, batch_idx, batch_size):
        """Notes that each rank has used its next batch, of so many samples or the remaining ones.

        Takes effect with the next reset(). batch_idx: accepted, as in Horovod, and not needed.
        """
        self.processed_num += batch_size * self.num_replicas

    def record_indices(self, indices):
        """As record_batch(), of these samples: until Horovod 0.23."""
        self.record_batch(None, len(indices))

    def get_indices(self, batch_idx, batch_size):
        """The samples of that batch: until Horovod 0.23."""
        return self.indices[batch_idx * batch_size:][:batch_size]

    def state_dict(self):
        """The epoch, and how many samples of it are used."""
        return {"epoch": self.epoch, "processed_num": self.processed_num}

    def load_state_dict(self, state_dict):
        """Continues from what state_dict() returned. ValueError for a state of an older release."""
        if "processed_num" not in state_dict:
            raise ValueError("horovod: ElasticSampler: a state without processed_num, as older releases "
                             "have written it: begin its epoch again, with set_epoch(%s)"
                             % state_dict.get("epoch"))
        self.epoch, self.processed_num = state_dict["epoch"], state_dict["processed_num"]
        self.reset()

    def reset(self):
        """Divides the remaining samples again."""
        rank, size = (basics.rank(), basics.size()) if basics.is_initialized() else (0, 1)
        order = list(range(len(self.dataset)))
        if self.shuffle:
            random.Random(self.seed + self.epoch).shuffle(order)
        left = self.remaining_indices = order[self.processed_num:]
        self.rank, self.num_replicas = rank, size
        self.num_samples = math.ceil(len(left) / size)
        self.total_size = self.num_samples * size
        self.indices = [left[place % len(left)] for place in range(rank, self.total_size, size)]

    def __iter__(self):
        return iter(self.indices)

    def __len__(self):
        return self.num_samples
