# SPDX-License-Identifier: Apache-2.0
"""Elastic state on one rank or several; what restarts make of it is in tests/cluster/horovod.bats."""
import os
import tempfile
import unittest

import horovod.torch as hvd
import torch

hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()


def make_state(seed=0, **kwargs):
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1 * (seed + 1), momentum=0.9))
    return hvd.elastic.TorchState(model, optimizer, **kwargs)


def step(state):
    state.optimizer.zero_grad()
    state.model(torch.ones(4, 3) * torch.arange(4.0)[:, None]).square().sum().backward()
    state.optimizer.step()


def weights(state):
    return [tensor.tolist() for tensor in state.model.state_dict().values()]


def everywhere(value):
    return all(other == value for other in hvd.allgather_object(value))


class Sampler(unittest.TestCase):
    def test_every_sample_is_somebodys(self):
        sampler = hvd.elastic.ElasticSampler(range(10))
        self.assertEqual(len(sampler), -(-10 // SIZE))
        drawn = hvd.allgather_object(list(sampler))
        self.assertEqual(set().union(*drawn), set(range(10)))
        self.assertEqual({len(part) for part in drawn}, {len(sampler)})

    def test_epochs_have_orders_of_their_own_and_one_without_shuffling_none(self):
        sampler = hvd.elastic.ElasticSampler(range(100))
        first = list(sampler)
        sampler.set_epoch(1)
        self.assertNotEqual(first, list(sampler))
        sampler.set_epoch(0)
        self.assertEqual(first, list(sampler))
        self.assertEqual(list(hvd.elastic.ElasticSampler(range(SIZE * 3), shuffle=False)),
                         [RANK, RANK + SIZE, RANK + 2 * SIZE])

    def test_what_is_recorded_is_not_drawn_again(self):
        state = make_state(sampler=hvd.elastic.ElasticSampler(range(SIZE * 5)))
        drawn = list(state.sampler)[:2]
        state.sampler.record_batch(1, 2)
        state.sync()
        self.assertEqual(len(state.sampler), 3)
        self.assertEqual(state.sampler.state_dict(), {"epoch": 0, "processed_num": 2 * SIZE})
        drawn += list(state.sampler)
        self.assertEqual(sorted(sum(hvd.allgather_object(drawn), [])), list(range(SIZE * 5)))
        state.sampler.record_batch(0, 3)
        state.sync()
        self.assertEqual(list(state.sampler), [])

    def test_a_data_set_smaller_than_the_job(self):
        self.assertEqual(list(hvd.elastic.ElasticSampler(range(1))), [0])
        self.assertEqual(list(hvd.elastic.ElasticSampler([])), [])
        with self.assertRaisesRegex(ValueError, r"set_epoch\(4\)"):  # as an older release wrote it
            hvd.elastic.ElasticSampler([]).load_state_dict({"epoch": 4, "processed_indices": [1]})


class InMemory(unittest.TestCase):
    def test_restore_goes_back_to_the_last_commit(self):
        state = make_state(epoch=3, names=["a"])
        step(state)
        state.commit()
        before = weights(state)
        step(state)
        state.epoch, state.names = 4, ["b"]
        state.restore()
        self.assertEqual((state.epoch, state.names, weights(state)), (3, ["a"], before))

    def test_sync_gives_all_rank_0s_state(self):
        state = make_state(seed=RANK, epoch=RANK)
        for _ in range(2):
            step(state)
        state.sync()
        self.assertEqual(state.epoch, 0)
        self.assertTrue(everywhere(weights(state)))
        self.assertAlmostEqual(state.optimizer.param_groups[0]["lr"], 0.1)
        step(state)
        self.assertTrue(everywhere(weights(state)))

    def test_another_model_takes_the_place_of_one(self):
        state = make_state()
        state.model = torch.nn.Linear(2, 2)
        state.commit()
        before = weights(state)
        with torch.no_grad():
            state.model.weight.zero_()
        state.restore()
        self.assertEqual(weights(state), before)


class OnDisk(unittest.TestCase):
    def setUp(self):
        self.parent = hvd.broadcast_object(tempfile.mkdtemp() if RANK == 0 else None)
        self.directory = os.path.join(self.parent, "restart")
        os.environ["BATCHAI_RESTART_DIRECTORY"] = self.directory

    def tearDown(self):
        del os.environ["BATCHAI_RESTART_DIRECTORY"]
        hvd.barrier()
        if RANK == 0:
            os.rmdir(self.parent)

    def test_a_later_attempt_goes_on_from_the_last_commit_and_leaves_nothing(self):
        sampler = hvd.elastic.ElasticSampler(range(SIZE * 4))
        state = make_state(epoch=0, sampler=sampler)
        for batch in range(3):
            step(state)
            sampler.record_batch(batch, 1)
            state.epoch = batch
            state.commit()
        committed = weights(state)
        hvd.barrier()

        later = make_state(seed=7, epoch=9, sampler=hvd.elastic.ElasticSampler(range(SIZE * 4)))
        resets = []
        later.register_reset_callbacks([lambda: resets.append(hvd.size())])

        @hvd.elastic.run
        def train(state, answer):
            self.assertEqual((state.epoch, weights(state), len(state.sampler)), (2, committed, 1))
            self.assertTrue(state.optimizer.state_dict()["state"])  # its momentum
            return answer

        self.assertEqual(train(later, 42), 42)
        self.assertEqual(resets, [SIZE])
        hvd.barrier()
        self.assertFalse(os.path.exists(self.directory))

    def test_a_first_attempt_begins_as_it_is(self):
        state = make_state(epoch=5)
        state.register_reset_callbacks([self.fail])
        self.assertEqual(hvd.elastic.run(lambda state: state.epoch)(state), 5)

    def test_a_commit_that_not_all_ranks_have_made_does_not_count(self):
        state = make_state(sampler=hvd.elastic.ElasticSampler(range(SIZE * 3)))
        state.sampler.record_batch(0, 1)
        state.commit()
        hvd.barrier()
        if RANK != 0:
            state.sampler.record_batch(1, 1)
            state.commit()
        hvd.barrier()
        later = make_state(sampler=hvd.elastic.ElasticSampler(range(SIZE * 3)))
        self.assertTrue(later.load())
        later.on_reset()
        later.sync()
        self.assertEqual(len(later.sampler), 2)
        later.finish()


if __name__ == "__main__":
    unittest.main()
