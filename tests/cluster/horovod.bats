#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 4 -g 1
# needs: torch
#
# Horovod scripts in a Slurm allocation, started by batchai-launch.

load lib

setup_file() {
    cat >"$MINISLURM_DIR/who.py" <<'SCRIPT'
import socket
import horovod.torch as hvd
import torch

hvd.init()
total = hvd.allreduce(torch.tensor([hvd.rank()]), op=hvd.Sum).item()
places = hvd.allgather_object((hvd.cross_rank(), hvd.local_rank()))
if hvd.rank() == 0:
    print("size %d nodes %d sum %d places %s" % (hvd.size(), hvd.cross_size(), total, places))
SCRIPT
    cat >"$MINISLURM_DIR/fails.py" <<'SCRIPT'
import horovod.torch as hvd
import torch

hvd.init()
if hvd.rank() == 2:
    raise RuntimeError("rank 2 is unhappy")
hvd.allreduce(torch.ones(1))
SCRIPT
    # Counts up from its argument, and fails once on the way, or for good.
    cat >"$MINISLURM_DIR/count.py" <<'SCRIPT'
import os, sys
import horovod.torch as hvd

hvd.init()
base, failures = int(sys.argv[1]), int(sys.argv[2])


@hvd.elastic.run
def train(state):
    print("base %d starts at %d" % (base, state.step), flush=True)
    while state.step < base + 4:
        state.step += 1
        state.commit()
        if int(os.environ["TORCHELASTIC_RESTART_COUNT"]) < failures and state.step >= base + 2:
            os._exit(3)
    print("base %d ends at %d" % (base, state.step), flush=True)


train(hvd.elastic.TorchState(step=base))
SCRIPT
    # Two epochs of 24 samples; in the second, node 2 is lost after two batches of 8 have been committed.
    cat >"$MINISLURM_DIR/elastic.py" <<'SCRIPT'
import os, signal
import horovod.torch as hvd
import torch

hvd.init()
first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
said = open("said", "a", 1)  # not the output: what an agent that is killed had still to pass on is lost
model = torch.nn.Linear(1, 1)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9))
state = hvd.elastic.TorchState(model, optimizer, epoch=0,
                               sampler=hvd.elastic.ElasticSampler(range(24)))
state.register_reset_callbacks([lambda: print("rank %d of %d goes on in epoch %d" % (
    hvd.rank(), hvd.size(), state.epoch), flush=True)])


def weight(when):
    said.write("%s: weight %r\n" % (when, model.weight.item()))


@hvd.elastic.run
def train(state):
    if not first:
        weight("later")
    while state.epoch < 2:
        for batch, start in enumerate(range(0, len(state.sampler), 2)):
            if first and state.epoch == 1 and batch == 2:
                weight("first")
                hvd.barrier()
                if hvd.rank() == 2:
                    os.kill(os.getppid(), signal.SIGKILL)  # the agent of its node
                    while True:
                        signal.pause()  # until this rank is ended too
            indices = state.sampler.get_indices(batch, 2)
            optimizer.zero_grad()
            model(torch.tensor([[float(i)] for i in indices])).sum().backward()
            optimizer.step()
            for index in indices:
                said.write("epoch %d: used %d\n" % (state.epoch, index))
            state.sampler.record_batch(batch, 2)
            state.commit()
        state.epoch += 1
        state.sampler.set_epoch(state.epoch)
        state.commit()


train(state)
SCRIPT
}

# launch SBATCH_OPTION... -- LAUNCH_ARGUMENT...: batchai-launch in a job; its output is in $out.
launch() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    out=$BATS_TEST_TMPDIR/out
    submit "${options[@]}" --output="$out" --wrap "batchai-launch $*"
    # shellcheck disable=SC2154 # submit sets job
    state=$(deadline=100 wait_job "$job") || true
    cat "$out"
}

@test "a Horovod script runs with one rank per GPU of the allocation" {
    launch -N4 --gres=gpu:1 -- /usr/bin/python3 "$MINISLURM_DIR/who.py"
    [ "$state" = COMPLETED ]
    grep -F 'size 4 nodes 4 sum 6 places [(0, 0), (1, 0), (2, 0), (3, 0)]' "$out"
}

@test "several ranks of a node share it with the ranks of other nodes" {
    launch -N2 --ntasks-per-node=2 --overcommit -- --ranks-per-node 2 /usr/bin/python3 "$MINISLURM_DIR/who.py"
    [ "$state" = COMPLETED ]
    grep -F 'size 4 nodes 2 sum 6 places [(0, 0), (0, 1), (1, 0), (1, 1)]' "$out"
}

@test "every operation and the optimizer give the same results between nodes as inside one" {
    launch -N2 --overcommit -- --ranks-per-node 2 env OMP_NUM_THREADS=1 /usr/bin/python3 \
        "$BATCHAI_SOURCE/tests/unit/python/run.py" \
        ranks_operations ranks_process_sets ranks_agreement ranks_functions ranks_optimizer ranks_elastic
    [ "$state" = COMPLETED ]
}

@test "a rank that fails ends the job, and its message is in the output" {
    launch -N4 --gres=gpu:1 -- /usr/bin/python3 "$MINISLURM_DIR/fails.py"
    [ "$state" = FAILED ]
    grep -F 'rank 2 is unhappy' "$out"
}

@test "an elastic training goes on from its last commit on the nodes that are left, and uses no sample twice" {
    cd "$BATS_TEST_TMPDIR" || return
    launch -N2 --ntasks-per-node=2 --overcommit --no-kill -- --ranks-per-node 2 --restarts 1 --min-nodes 1 \
        /usr/bin/python3 "$MINISLURM_DIR/elastic.py"
    grep -F 'restart 1 of 1, on 1 node: n1' "$out"
    [ "$(grep -c '^rank . of 2 goes on in epoch 1$' "$out")" = 2 ]
    [ "$(grep -o 'weight .*' said | sort -u | wc -l)" = 1 ]
    [ "$(grep -c ': weight' said)" = 6 ]
    [ "$(grep -c '^epoch ..* used' said)" = 48 ]
    [ "$(grep '^epoch .: used' said | sort -u | wc -l)" = 48 ]
    [ "$(ls)" = $'out\nsaid' ] # nothing is left of what was kept
}

@test "an elastic training never goes on from the state of another one in its job" {
    cd "$BATS_TEST_TMPDIR" || return
    count="batchai-launch -n 1 --restarts 1 /usr/bin/python3 $MINISLURM_DIR/count.py"
    submit -N1 --overcommit --output=out --wrap "$count 100 1 & $count 200 9 & wait; $count 300 0"
    # shellcheck disable=SC2154 # submit sets job
    [ "$(deadline=100 wait_job "$job")" = COMPLETED ]
    [ "$(grep 'starts at' out | sort)" = $'base 100 starts at 100
base 100 starts at 102
base 200 starts at 200
base 200 starts at 202
base 300 starts at 300' ]
    [ "$(grep 'ends at' out)" = $'base 100 ends at 104\nbase 300 ends at 304' ]
    [ "$(find . -name 'batchai-restart.*' | wc -l)" = 1 ] # of the one that failed for good
}
