# SPDX-License-Identifier: Apache-2.0
"""mpi4py's pool: its workers are new processes, by default as many as MPI_UNIVERSE_SIZE leaves."""

import os
import time

from mpi4py.futures import MPIPoolExecutor


def place(_):
    time.sleep(0.2)
    return os.environ["BATCHAI_NODE_NAME"], os.getpid()


if __name__ == "__main__":
    with MPIPoolExecutor() as pool:
        pool.bootup()
        places = set(pool.map(place, range(40)))
    nodes = sorted({node for node, _ in places})
    print(len(places), "workers on", *nodes)
