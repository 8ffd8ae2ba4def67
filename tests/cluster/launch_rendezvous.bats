#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2
#
# The rendezvous server of Horovod's own Gloo. Its clients here are curl and, if it is installed, Horovod. Other users'
# requests are in launch_neighbours.bats.
# shellcheck disable=SC2016 # ranks expand it

load lib

# Runs the script in each of four ranks on n1 and n2; url is that of the rank's own agent, ask prints status and body.
ranks() {
    salloc --quiet -N2 --overcommit batchai-launch -n 4 bash -c '
        url=http://$HOROVOD_GLOO_RENDEZVOUS_ADDR:$HOROVOD_GLOO_RENDEZVOUS_PORT
        ask() { curl -s -m 10 -w "%{http_code}" "${@:2}" "$url/$1"; }
        '"$1"
}

@test "all ranks get a value that one rank puts, and it is removed when all have finished" {
    run ranks '
        [ $RANK != 3 ] || { sleep 1; ask global/3 -X PUT --data-binary hello; }
        until [ "$(ask global/3)" = hello200 ]; do sleep 0.1; done
        ask global/$RANK -X DELETE
        until [ "$(ask global/3)" = 404 ]; do sleep 0.1; done
        [ "$(ask global)" = 400 ] && echo " rank $RANK is fine"'
    [ "$status" -eq 0 ]
    [ "$(grep -c 'rank . is fine' <<<"$output")" = 4 ]
}

@test "a value may have any bytes, up to a limit" {
    run ranks '
        [ $RANK = 0 ] || exit 0
        cd "$(mktemp -d)"
        head -c 300000 /dev/urandom >value && ask a/b -T value && ask a/b -o back
        cmp value back && echo " equal"
        head -c 2000000 /dev/zero >value && ask a/c -T value
        rm -r "$PWD"'
    [ "$status" -eq 0 ]
    [[ $output = *" equal"* ]]
    [[ $output = *413 ]]
}

@test "agents on one machine serve each their own ranks, with the same values" {
    run timeout -k 2 30 batchai-launch --local 2 --ranks-per-node 1 bash -c '
        url=http://$HOROVOD_GLOO_RENDEZVOUS_ADDR:$HOROVOD_GLOO_RENDEZVOUS_PORT
        curl -s -X PUT -d "value of $RANK" "$url/a/$RANK"
        until [ "$(curl -s "$url/a/$((1 - RANK))")" = "value of $((1 - RANK))" ]; do sleep 0.1; done
        echo " rank $RANK is fine at $url"'
    [ "$status" -eq 0 ]
    [ "$(grep -o 'is fine at .*' <<<"$output" | sort -u | wc -l)" = 2 ]
}

@test "a job of one rank has no rendezvous server" {
    run -1 salloc --quiet -N1 batchai-launch -n 1 printenv HOROVOD_GLOO_RENDEZVOUS_ADDR
}

@test "a script of Horovod's own Gloo runs, and may begin again" {
    directory=${BATCHAI_STOCK_HOROVOD-}
    PYTHONPATH=$directory /usr/bin/python3 -c 'import horovod.torch.mpi_lib_v2' 2>/dev/null ||
        skip "Horovod itself is not installed (BATCHAI_STOCK_HOROVOD: where)"
    cat >"$BATS_TEST_TMPDIR/stock.py" <<'SCRIPT'
import horovod.torch as hvd
import torch

for _ in range(2):
    hvd.init()
    total = hvd.allreduce(torch.tensor([hvd.rank()]), op=hvd.Sum).item()
    print("gloo %s: rank %d of %d, local %d of %d, sum %d" % (
        hvd.gloo_enabled(), hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size(), total))
    hvd.shutdown()
SCRIPT
    run salloc --quiet -N2 --overcommit batchai-launch -n 4 \
        env PYTHONPATH="$directory" /usr/bin/python3 "$BATS_TEST_TMPDIR/stock.py"
    [ "$status" -eq 0 ]
    for rank in 0 1 2 3; do
        [ "$(grep -c "gloo True: rank $rank of 4, local $((rank % 2)) of 2, sum 6" <<<"$output")" = 2 ]
    done
}
