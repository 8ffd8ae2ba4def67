# SPDX-License-Identifier: Apache-2.0
"""Horovod's callbacks for keras (horovod/_keras/callbacks.py says what they do)."""
import keras

from horovod._keras import callbacks as _impl


class BroadcastGlobalVariablesCallback(_impl.BroadcastGlobalVariables, keras.callbacks.Callback):
    __doc__ = _impl.BroadcastGlobalVariables.__doc__
    _keras = keras


class MetricAverageCallback(_impl.MetricAverage, keras.callbacks.Callback):
    __doc__ = _impl.MetricAverage.__doc__
    _keras = keras


class LearningRateScheduleCallback(_impl.LearningRateSchedule, keras.callbacks.Callback):
    __doc__ = _impl.LearningRateSchedule.__doc__
    _keras = keras


class LearningRateWarmupCallback(_impl.LearningRateWarmup, keras.callbacks.Callback):
    __doc__ = _impl.LearningRateWarmup.__doc__
    _keras = keras
