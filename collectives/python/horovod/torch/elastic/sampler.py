# SPDX-License-Identifier: Apache-2.0
"""The share of a data set's samples for this rank, in jobs whose number of ranks may change."""
import math

import torch.utils.data

from horovod.common import basics


class ElasticSampler(torch.utils.data.Sampler):
    """Divides the remaining samples of an epoch among the current ranks.

    dataset: of known length. shuffle: in an order from seed and epoch, the same on all ranks. Every
    rank gets the same number of samples; if they do not divide evenly, the first ones come twice.
    The script reports used samples by record_batch(), and begins an epoch with set_epoch().
    """

    def __init__(self, dataset, shuffle=True, seed=0):
        self.dataset, self.shuffle, self.seed = dataset, shuffle, seed
        self.epoch = 0
        self.processed_indices = set()
        self.reset()

    def set_epoch(self, epoch):
        """Begins this epoch, with all of its samples."""
        self.epoch = epoch
        self.processed_indices = set()
        self.reset()

    def record_batch(self, batch_idx, batch_size):
        """Notes that this rank has used its next batch: batch_size samples, or the remaining ones.

        batch_idx: accepted, as in Horovod, and not needed.
        """
        end = self._recorded + batch_size
        self.record_indices(self.indices[self._recorded:end])
        self._recorded = end

    def record_indices(self, indices):
        """These samples have been used; they take effect with the next reset()."""
        self.processed_indices.update(indices)

    def get_indices(self, batch_idx, batch_size):
        """The samples of that batch."""
        start = batch_idx * batch_size
        return self.indices[start:start + batch_size]

    @property
    def processed_num(self):
        """How many samples of the epoch are done, as far as this rank knows."""
        return len(self.processed_indices)

    def state_dict(self):
        """The epoch, and the samples of it that this rank knows to be used."""
        return {"epoch": self.epoch, "processed_indices": set(self.processed_indices)}

    def load_state_dict(self, state_dict):
        """Continues from what state_dict() returned."""
        self.epoch = state_dict["epoch"]
        self.processed_indices = set(state_dict["processed_indices"])
        self.reset()

    def reset(self):
        """Divides the remaining samples again."""
        rank, size = (basics.rank(), basics.size()) if basics.is_initialized() else (0, 1)
        self.rank, self.num_replicas, self._recorded = rank, size, 0
        left = [i for i in range(len(self.dataset)) if i not in self.processed_indices]
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            left = [left[i] for i in torch.randperm(len(left), generator=generator).tolist()]
        self.num_samples = math.ceil(len(left) / size)
        missing = self.num_samples * size - len(left)
        left += (left * missing)[:missing]
        self.indices = left[rank::size]

    def __iter__(self):
        return iter(self.indices)

    def __len__(self):
        return self.num_samples
