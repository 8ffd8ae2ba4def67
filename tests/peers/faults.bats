#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 3
#
# The collective library when ranks die, stop or abort, and when nodes die or lose the network. All other ranks get an
# error that names the rank and the operation, and may start again. faults_check.c says what each mode does.
# BATCHAI_COLL_TIMEOUT is never, because it would end each wait.
# shellcheck disable=SC2154 # output and status are set by run

load ../cluster/lib
load ranks

setup() {
    check=$BATCHAI_BUILD/tests/peers/faults_check
    rounds=$(often 50)
    deadline=60
    export BATCHAI_COLL_TIMEOUT=0
    mkdir -m 777 "$BATS_TEST_TMPDIR/shared"
    cd "$BATS_TEST_TMPDIR/shared"
}

teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || { show_logs && tail -n 20 out* >&2 || true; }
    local node
    for node in $(nodes); do minislurm link "$node" up; done
    assert_clean
    [ -z "$(ls -A /dev/shm)" ]
}

layouts=("local_launch 1 3" "local_launch 2 4" "slurm_launch 3 7")

# fine COUNT: COUNT ranks have succeeded; other output is allowed.
fine() { [ "$(grep -c ' is fine$' <<<"$output")" -eq "$1" ]; }

# told COUNT PATTERN: COUNT ranks have got this error, with the operation that waits.
told() {
    local count
    count=$(grep -cE ": collectives: $2; waiting: operation [0-9]+, .*\(gradient\)" <<<"$output")
    [ "$count" -eq "$1" ] || { echo "$count ranks were told: $2" >&2 && return 1; }
}

# The launcher would end a job in which a rank fails, so the rank's shell hides the failure.
# survive LAYOUT RANK COMMAND...: the rank does not.
survive() {
    # shellcheck disable=SC2016,SC2086 # expanded by the rank's shell; words
    run $1 sh -c '[ $RANK != $0 ] || exec 2>/dev/null; "$@" || [ $RANK = $0 ]' "$2" "${@:3}"
    [ "$status" -eq 0 ] || { echo "$1: $output" >&2 && return 1; }
}

# each_layout COMMAND...: all ranks are fine.
each_layout() {
    local layout i
    for ((round = 0; round < rounds; ++round)); do
        for layout in "${layouts[@]}"; do
            # shellcheck disable=SC2086 # words
            run $layout "$@"
            [ "$status" -eq 0 ] || { echo "$layout: $output" >&2 && return 1; }
            fine "${layout##* }"
        done
    done
}

@test "all other ranks get an error that names a killed rank" {
    rounds=$(often 50 2) # each fails elsewhere
    for ((round = 0; round < rounds; ++round)); do
        for layout in "${layouts[@]}"; do
            last=$((${layout##* } - 1))
            for victim in 0 1 "$last"; do
                export BATCHAI_COLL_FAULT=rank=$victim,operation=4,chunk=$((round % 2)),do=kill
                survive "$layout" "$victim" "$check" end peer
                told "$last" "rank $victim \(process [0-9]+ on node .*\) has ended"
                fine "$last"
            done
        done
    done
}

@test "all other ranks get an error that names a rank that exits without finalize" {
    rounds=$(often 50 2) # each fails elsewhere
    for ((round = 0; round < rounds; ++round)); do
        for layout in "${layouts[@]}"; do
            last=$((${layout##* } - 1))
            export BATCHAI_COLL_FAULT=rank=1,operation=$((round + 1)),do=exit
            survive "$layout" 1 "$check" end peer
            told "$last" "rank 1 \(process [0-9]+ on node .*\) has ended"
            fine "$last"
        done
    done
}

# run_behind COMMAND...: its output is in the file out.
run_behind() {
    : >out
    "$@" >out 2>&1 &
    behind=$!
}

has_said() { [ "$(grep -cE "$2" out)" -eq "$1" ]; }

# kill_rank SIGNAL LAYOUT PROCESS NODE: by the number that the process has there.
kill_rank() {
    case $2 in
        local_launch*) kill "-$1" "$3" ;;
        *) on_node "$4" kill "-$1" "$3" ;;
    esac
}

@test "all other ranks get an error that names a stopped rank, and begin again with it when it continues" {
    export BATCHAI_COLL_WATCH=stall=1
    rounds=$(often 50 2) # each fails elsewhere
    for ((round = 0; round < rounds; ++round)); do
        for layout in "${layouts[@]}"; do
            last=$((${layout##* } - 1))
            victim=$((round % 2 == 0 ? 1 : last))
            export BATCHAI_COLL_FAULT=rank=$victim,operation=4,chunk=$((round % 2)),do=stop
            rm -f go
            # shellcheck disable=SC2086 # words
            run_behind $layout "$check" fail peer "$PWD/go"
            eventually has_said "$last" ": rank $victim .* has (been stopped|not run) for 1 s; waiting: .*gradient"
            [[ $(grep -m 1 ": rank $victim (" out) =~ process\ ([0-9]+)\ on\ node\ ([^\)]*) ]]
            kill_rank CONT "$layout" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
            touch go
            wait "$behind"
            has_said $((last + 1)) ' is fine$'
        done
    done
}

@test "a rank that is only late is waited for" {
    export BATCHAI_COLL_WATCH=stall=1 BATCHAI_COLL_FAULT=rank=1,operation=2,do=delay:3000ms
    each_layout "$check" compute 0
}

@test "a job that is suspended as a whole goes on" {
    export BATCHAI_COLL_WATCH=stall=1
    for ((round = 0; round < rounds; ++round)); do
        for layout in "${layouts[@]}"; do
            rm -f go
            # shellcheck disable=SC2086 # words
            run_behind $layout "$check" busy "$PWD/go"
            eventually has_said "${layout##* }" ' is busy$'
            for signal in STOP CONT; do
                pkill "-$signal" -x faults_check # on all nodes
                sleep 3
            done
            touch go
            wait "$behind"
            has_said "${layout##* }" ' is fine$'
        done
    done
}

@test "a rank that computes is not taken for one that stands still" {
    # The machine may give a computing rank's watchdog no core for a second.
    export BATCHAI_COLL_WATCH=process=1,node=3,stall=3
    each_layout "$check" compute 6
}

@test "ranks that compute while another one dies are told in their next call" {
    for ((round = 0; round < rounds; ++round)); do
        for layout in "${layouts[@]}"; do
            last=$((${layout##* } - 1))
            rm -f go
            # shellcheck disable=SC2016,SC2086 # expanded by the rank's shell; words
            run_behind $layout sh -c '"$@" || [ $RANK = 0 ]' - "$check" idle peer "$PWD/go"
            eventually has_said $((last + 1)) ' computes: process '
            kill_rank KILL "$layout" "$(sed -n 's/^rank 0 computes: process //p' out)" n1
            sleep 1 # they are to know before they ask
            touch go
            wait "$behind"
            has_said "$last" ': rank 0 .* has ended; waiting: operation 2, .*gradient'
            has_said "$last" ' is fine$'
        done
    done
}

@test "a rank may abort for all, from any thread, and all may begin again" {
    each_layout "$check" abort
    grep -q 'rank 0 has aborted: enough is enough; waiting: ' <<<"$output"
}

@test "a communicator of some ranks fails with the job" {
    export BATCHAI_COLL_FAULT=rank=1,operation=7,do=abort
    each_layout "$check" part aborted
}

@test "children of a rank are not ranks" {
    export BATCHAI_COLL_WATCH=process=0.5,node=0.5,stall=0.5
    each_layout "$check" fork
}

@test "failures and new beginnings leak nothing" {
    times=$(often 50 6)
    rounds=1
    each_layout "$check" rounds "$times"
}

@test "invalid settings of a fault or a watch are refused by all ranks" {
    for bad in BATCHAI_COLL_WATCH=stall=soon BATCHAI_COLL_FAULT=rank=1,do=dance; do
        run env "$bad" timeout 60 batchai-launch --local 2 -n 4 -- sh -c '"$0" fork || :' "$check"
        [ "$(grep -c ": collectives: init: .*${bad%%=*}: " <<<"$output")" -eq 4 ]
    done
}

# Without the launcher, which needs the network too: two ranks on each of three nodes.
srun_behind() {
    rm -f out.*
    srun -Q -N3 --ntasks-per-node=2 --mpi=pmix --kill-on-bad-exit=0 -o "$PWD/out.%t" "$@" >out 2>&1 &
    behind=$!
}

all_told() { [ "$(cat out* | grep -cE "$2")" -eq "$1" ]; }
waits='; waiting: operation [0-9]+, .*gradient'

@test "all ranks are told of a cable that is pulled, and begin again when it is plugged in" {
    export BATCHAI_COLL_WATCH=node=1
    for ((round = 0; round < rounds; ++round)); do
        rm -f go
        srun_behind "$check" fail peer "$PWD/go"
        eventually all_told 6 ' reduces$'
        minislurm link n3 down
        eventually all_told 4 ": node n3 \(ranks 4-5\) has not answered for 1 s$waits"
        eventually all_told 2 ": node n[12] \(ranks [0-3]-[0-3]\) has not answered for 1 s$waits"
        minislurm link n3 up
        touch go
        wait "$behind"
        all_told 6 ' is fine$'
    done
}

# Where the first ranks have no ring, the others see what becomes of their own messages.
# shellcheck disable=SC2016 # expanded by the rank's shell
@test "all ranks are told of a cable that only carries messages" {
    for ((round = 0; round < rounds; ++round)); do
        rm -f go
        srun_behind sh -c 'export BATCHAI_COLL_WATCH=node=$((SLURM_LOCALID)); exec "$@"' - "$check" fail peer "$PWD/go"
        eventually all_told 6 ' reduces$'
        minislurm link n3 down
        eventually all_told 4 ": (node n3 \(ranks 4-5\) has not answered for 1 s|lost the connection to rank [45]: .*)$waits"
        eventually all_told 2 ": (node n[12] \(.*\) has not answered for 1 s|lost the connection to rank [0-3]: .*)$waits"
        minislurm link n3 up
        touch go
        wait "$behind"
        all_told 6 ' is fine$'
    done
}

# Like a host just after its cable was plugged in again.
@test "a host that cannot be reached is tried again for some seconds" {
    local other
    other=$(scontrol show node -o n2 | grep -oP 'NodeAddr=\K\S+')
    for ((round = 0; round < rounds; ++round)); do
        on_node n3 ip route add unreachable "$other"
        slurm_launch 3 6 "$check" compute 0 >out 2>&1 &
        behind=$!
        eventually grep 'No route to host' out
        on_node n3 ip route del unreachable "$other"
        wait "$behind"
        all_told 6 ' is fine$'
    done
}

@test "all others are told of a node that dies" {
    export BATCHAI_COLL_WATCH=node=1
    for ((round = 0; round < rounds; ++round)); do
        srun_behind "$check" end peer
        eventually all_told 6 ' reduces$'
        minislurm link n3 down
        on_node n3 pkill -KILL -x faults_check
        eventually all_told 4 ": node n3 \(ranks 4-5\) has not answered for 1 s$waits"
        eventually all_told 4 ' is fine$'
        minislurm link n3 up
        wait "$behind" || true # its ranks were killed
    done
}
