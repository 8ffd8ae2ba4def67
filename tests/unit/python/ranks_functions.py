# SPDX-License-Identifier: Apache-2.0
"""Objects, parameters and optimizer state on several ranks."""
import unittest

import horovod.torch as hvd
import torch

hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()


def make_model(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 3))


def same_everywhere(value):
    return all(other == value for other in hvd.allgather_object(value))


class Objects(unittest.TestCase):
    def test_broadcast_from_every_rank(self):
        for root in range(SIZE):
            for mine in ({"rank": RANK, "list": list(range(RANK * 100))}, None, "text", b"", RANK):
                theirs = hvd.allgather_object(mine)[root]
                self.assertEqual(hvd.broadcast_object(mine, root), theirs)

    def test_allgather_of_different_sizes(self):
        self.assertEqual(hvd.allgather_object("x" * RANK * 1000),
                         ["x" * rank * 1000 for rank in range(SIZE)])
        self.assertEqual(hvd.allgather_object(None, name="nothing"), [None] * SIZE)


class Parameters(unittest.TestCase):
    def check(self, select):
        model = make_model(RANK)
        hvd.broadcast_parameters(select(model), SIZE - 1)
        expected = make_model(SIZE - 1).state_dict()
        for name, _ in model.named_parameters():
            self.assertTrue(torch.equal(model.state_dict()[name], expected[name]))

    def test_state_dict(self):
        self.check(lambda model: model.state_dict())

    def test_named_parameters(self):
        self.check(lambda model: model.named_parameters())
        self.check(lambda model: list(model.named_parameters()))

    def test_parameters(self):
        self.check(lambda model: model.parameters())

    def test_a_dict_in_another_order_on_each_rank(self):
        self.check(lambda model: dict(sorted(model.state_dict().items(), reverse=RANK % 2 == 1)))


class OptimizerState(unittest.TestCase):
    def check(self, make, steps_of_others=0, wrapped=False):
        model = make_model(0)
        optimizer = make(model.parameters(), RANK)
        for step in range(3 if RANK == 0 else steps_of_others):
            optimizer.zero_grad()
            model(torch.randn(6, 4) + step).sum().backward()
            optimizer.step()
        if wrapped:
            optimizer = hvd.DistributedOptimizer(optimizer)
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        state = optimizer.state_dict()
        groups = [{key: value for key, value in group.items() if key != "params"}
                  for group in state["param_groups"]]
        self.assertTrue(same_everywhere(groups))
        self.assertTrue(same_everywhere({
            number: {key: value.tolist() if torch.is_tensor(value) else value
                     for key, value in entry.items()}
            for number, entry in state["state"].items()}))
        hvd.broadcast_parameters(model.state_dict(), 0)
        optimizer.zero_grad()
        model(torch.ones(6, 4)).sum().backward()
        optimizer.step()  # the state is one that the optimizer can work with
        self.assertTrue(same_everywhere([p.tolist() for p in model.parameters()]))

    def test_sgd_with_momentum(self):
        def make(parameters, rank):
            return torch.optim.SGD(parameters, lr=0.1 * (rank + 1), momentum=0.9, nesterov=rank == 0)

        self.check(make)
        self.check(make, steps_of_others=1)

    def test_adam(self):
        def make(parameters, rank):
            return torch.optim.Adam(parameters, lr=0.1 * (rank + 1), betas=(0.9, 0.99 - 0.1 * rank))

        for wrapped in (False, True):
            self.check(make, wrapped=wrapped)
            self.check(make, steps_of_others=2, wrapped=wrapped)

    def test_others(self):
        for kind in (torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.Adadelta):
            self.check(lambda parameters, rank: kind(parameters, lr=0.1 * (rank + 1)))

    def test_an_optimizer_without_state(self):
        optimizer = torch.optim.SGD(make_model(0).parameters(), lr=0.1 * (RANK + 1))
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        self.assertEqual(optimizer.param_groups[0]["lr"], 0.1)
