# SPDX-License-Identifier: Apache-2.0
"""``hvd.elastic``: training that goes on after a failure (``horovod.common.elastic`` says how).

    @hvd.elastic.run
    def train(state):
        for state.epoch in range(state.epoch, epochs):
            ...
            state.commit()

    train(hvd.elastic.TensorFlowKerasState(model, optimizer, epoch=0))
"""
from horovod.common.elastic import run
from horovod.common.models import KerasState
from horovod.common.store import StoredState
from horovod.tensorflow.util import _executing_eagerly, v1


class TensorFlowState(StoredState):
    """State of variables, by default all global ones of a graph, and of plain objects by keyword.

    session: of a graph; by default the one that is current.
    """

    def __init__(self, variables=None, session=None, **kwargs):
        self.variables = variables if variables is not None else v1.global_variables()
        self.session = session
        super(TensorFlowState, self).__init__(**kwargs)
        self._arrays = self._read()

    def _get_session(self):
        return self.session or v1.get_default_session()

    def _read(self):
        if _executing_eagerly():
            return [variable.numpy() for variable in self.variables]
        return self._get_session().run(list(self.variables))

    def _write(self, arrays):
        for variable, array in zip(self.variables, arrays):
            if _executing_eagerly():
                variable.assign(array)
            else:
                variable.load(array, self._get_session())


TensorFlowKerasState = KerasState
