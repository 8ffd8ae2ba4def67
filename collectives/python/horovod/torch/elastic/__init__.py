# SPDX-License-Identifier: Apache-2.0
"""``hvd.elastic``: training that goes on after a failure (``horovod.common.elastic`` says how).

    @hvd.elastic.run
    def train(state):
        for state.epoch in range(state.epoch, epochs):
            ...
            state.commit()

    train(hvd.elastic.TorchState(model, optimizer, epoch=0))
"""
from horovod.common.basics import init, shutdown
from horovod.common.elastic import run
from horovod.torch.elastic.sampler import ElasticSampler
from horovod.torch.elastic.state import TorchState

__all__ = ["ElasticSampler", "TorchState", "init", "run", "shutdown"]
