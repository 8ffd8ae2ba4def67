# SPDX-License-Identifier: Apache-2.0
"""The rank and the size that a launcher has put into the environment."""
import os

_LAUNCHERS = (("HOROVOD_RANK", "HOROVOD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
              ("PMI_RANK", "PMI_SIZE"))


def get_env_rank_and_size():
    """This process's rank and their number, before init(); 0 and 1 without a launcher."""
    for names in _LAUNCHERS:
        values = [os.environ[name] for name in names if name in os.environ]
        if len(values) == 1:
            raise RuntimeError("horovod: only one of %s and %s is in the environment" % names)
        if values:
            return int(values[0]), int(values[1])
    return 0, 1
