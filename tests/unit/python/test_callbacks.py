# SPDX-License-Identifier: Apache-2.0
"""The arguments of Keras callbacks, whose order Horovod 0.21 has changed."""
import types
import unittest

from horovod._keras import package

_keras = types.SimpleNamespace(callbacks=types.SimpleNamespace(Callback=object))
_made = package.callbacks(_keras, __name__)
Schedule, Warmup = _made["LearningRateScheduleCallback"], _made["LearningRateWarmupCallback"]


def factor(epoch):
    return 0.5


class LearningRateArguments(unittest.TestCase):
    def test_each_order_is_recognised_by_its_values(self):
        for args, kwargs, rate, start, end in (
                ((), {"multiplier": factor, "start_epoch": 3}, None, 3, None),
                ((), {"multiplier": 1, "initial_lr": 0.1, "start_epoch": 3, "end_epoch": 4}, 0.1, 3, 4),
                ((factor, 5, 30), {}, None, 5, 30),
                ((factor,), {"start_epoch": 5}, None, 5, None),
                ((0.1,), {"start_epoch": 5, "end_epoch": 30}, None, 5, 30),
                ((0.1, 5, 30, True), {}, None, 5, 30),
                ((0.1, 5, None), {}, None, 5, None),
                ((0.1, 5, 30, False, True, None, 0.2), {}, 0.2, 5, 30),
                ((0.1, 5, 30), {"initial_lr": 0.2}, 0.2, 5, 30),
                ((0.1, factor), {}, 0.1, 0, None),
                ((0.1, factor, 5, 30, False, True, 10), {}, 0.1, 5, 30),
                ((0.1, 0.5, 5, 30), {}, 0.1, 5, 30),
                ((0.1, 1.0, 5), {}, 0.1, 5, None),
                ((0.1, 2), {"start_epoch": 5}, 0.1, 5, None),
                ((0.1,), {"multiplier": 2, "start_epoch": 5}, 0.1, 5, None)):
            made = Schedule(*args, **kwargs)
            self.assertEqual((made.initial_lr, made.start_epoch, made.end_epoch), (rate, start, end), (args, kwargs))
        for args, kwargs, rate, epochs in (
                ((), {}, None, 5), ((), {"warmup_epochs": 3, "verbose": 1}, None, 3), ((3, False), {}, None, 3),
                ((3, True, 10, 1, 0.1), {}, 0.1, 3), ((3,), {"initial_lr": 0.1}, 0.1, 3), ((0.1,), {}, 0.1, 5),
                ((1, 3), {}, 1, 3), ((1,), {"warmup_epochs": 3}, 1, 3), ((0.1, 3, True, None, 1), {}, 0.1, 3)):
            made = Warmup(*args, **kwargs)
            self.assertEqual((made.initial_lr, made.end_epoch), (rate, epochs), (args, kwargs))

    def test_what_both_orders_fit_is_refused(self):
        for kind, args, kwargs in ((Schedule, (1., 5, 30), {}), (Schedule, (0.1, 1), {}), (Schedule, (1., 5, 30, 1), {}),
                                   (Schedule, (1., 5., 30), {}), (Warmup, (5,), {}), (Warmup, (5.,), {}), (Warmup, (5, 1), {}), (Warmup, (5,), {"verbose": 1})):
            with self.assertRaisesRegex(ValueError, r"until Horovod 0\.20 .* since 0\.21\. Name the arguments"):
                kind(*args, **kwargs)
        for kind, args, kwargs in ((Schedule, (), {}), (Schedule, (0.1,), {"initial_lr": 0.2, "multiplier": 1}),
                                   (Warmup, (), {"epochs": 5}), (Warmup, ("5",), {})):
            with self.assertRaises(TypeError):
                kind(*args, **kwargs)

    def test_a_number_is_a_factor_without_initial_lr_and_a_base_with_it(self):
        self.assertEqual(Schedule(multiplier=0.1, start_epoch=30).multiplier(32), 0.1)
        self.assertAlmostEqual(Schedule(multiplier=0.1, start_epoch=30, initial_lr=1.0).multiplier(32), 0.01)
