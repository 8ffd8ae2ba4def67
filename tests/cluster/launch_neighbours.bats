#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The ports of batchai-launch on a node that two users share: alice has a job, bob has only an account.
# needs: root
# minislurm: -n 3
#
# shellcheck disable=SC2016 # ranks and nodes expand it
# shellcheck disable=SC2154 # status and output are set by run

load lib

setup() {
    check=$BATCHAI_BUILD/tests/peers/pmix_check
    work=$BATS_TEST_TMPDIR
    chmod 777 "$work"
}

teardown() {
    touch "$work/over" # for bob, after a failure
    assert_clean
}

bob_on() { on_node "$1" setpriv --reuid bob --regid bob --init-groups "${@:2}"; }

# alice's job: four ranks on n1 and n2 that say "ready" and run the script when alice says "go".
start_job() {
    as_user alice salloc --quiet -N2 batchai-launch -n 4 bash -c '
        url=http://$HOROVOD_GLOO_RENDEZVOUS_ADDR:$HOROVOD_GLOO_RENDEZVOUS_PORT
        ask() { curl -s -m 10 -w "%{http_code}" "${@:2}" "$url/$1"; }
        '"${2-}"'
        echo "ready on $HOROVOD_HOSTNAME at $url"
        until [ -e '"$work"'/go ]; do sleep 0.1; done
        '"$1" >"$work/out" 2>&1 &
    launched=$!
    eventually is_ready
}
is_ready() { [ "$(grep -c ^ready "$work/out")" = 4 ]; }
# Ends with bob's connections still held.
end_job() {
    touch "$work/go"
    wait "$launched"
    touch "$work/over"
    [ -z "${holder-}" ] || wait "$holder"
}

# alices_ports NODE: where alice's processes listen, from /proc, which each user can read: "ADDRESS PORT".
alices_ports() {
    bob_on "$1" bash -c '
        while read -r _ local _ state _ _ _ uid _; do
            [ "$state $uid" = "0A $(id -u alice)" ] || continue
            hex=${local%:*}
            echo "$((0x${hex:6:2})).$((0x${hex:4:2})).$((0x${hex:2:2})).$((0x${hex:0:2})) $((0x${local#*:}))"
        done </proc/net/tcp'
}

# hold NODE COUNT: bob opens COUNT connections to each of alice's ports there and sends nothing. Then he connects
# again and again.
hold() {
    alices_ports "$1" >"$work/ports.$1"
    [ -s "$work/ports.$1" ]
    bob_on "$1" bash -c '
        ulimit -n 8192
        ports=$(sed "s:^0.0.0.0:127.0.0.1:; s: :/:; s:^:/dev/tcp/:" '"$work/ports.$1"')
        for port in $ports; do
            for ((round = 0; round < '"$2"'; ++round)); do exec {fd}<>"$port"; done
        done
        touch '"$work/held.$1"'
        until [ -e '"$work/over"' ]; do
            for port in $ports; do : <>"$port"; done
            sleep 0.01
        done 2>/dev/null' &
    holder=$!
    eventually test -e "$work/held.$1"
}

@test "another user's idle connections do not stop the PMIx calls of a job" {
    for call in exchange publish group; do
        rm -f "$work"/*
        start_job "exec $check $call"
        hold n1 50
        end_job
        [ "$(grep -c ' of 4 is fine' "$work/out")" = 4 ]
    done
}

@test "another user's idle connections do not stop the ranks of Horovod's Gloo from meeting" {
    start_job '
        ask global/$RANK -X PUT -d value
        for rank in 0 1 2 3; do until [ "$(ask global/$rank)" = value200 ]; do sleep 0.1; done; done
        echo " rank $RANK is fine"'
    hold n1 200
    end_job
    [ "$(grep -c ' rank . is fine' "$work/out")" = 4 ]
}

@test "no other user of the node reads, overwrites or deletes what the ranks of Horovod's Gloo tell each other" {
    start_job 'echo " rank $RANK has $(ask a/b)"' '[ $RANK != 3 ] || ask a/b -X PUT -d secret >/dev/null'
    for url in $(grep -o 'http.*' "$work/out" | sort -u); do
        for node in n1 n2; do
            run -0 bob_on $node bash -c '
                for request in "-X GET" "-X PUT -d forged" "-X DELETE"; do
                    curl -s -m 10 $request '"$url"'/a/b
                done
                true'
            [ -z "$output" ]
        done
    done
    end_job
    [ "$(grep -c ' rank . has secret200' "$work/out")" = 4 ]
}

@test "no other node, not even the job's own user there, reaches the servers of the ranks" {
    start_job true 'ask a/b -X PUT -d secret >/dev/null'
    for port in $(grep -o 'http.*' "$work/out" | grep -o '[0-9]*$' | sort -u); do
        run -0 on_node n3 setpriv --reuid alice --regid alice --init-groups bash -c '
            for host in n1 n2; do curl -s -m 10 http://$host:'"$port"'/a/b; done
            true'
        [ -z "$output" ]
    done
    end_job
}
