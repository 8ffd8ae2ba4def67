# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Helpers of the cluster tests, for `load lib`. Every command that talks to Slurm has a deadline; no
# helper asserts how long something took.

[ -z "${BATS_VERSION-}" ] || bats_require_minimum_version 1.5.0 # run reads this file, too

# Other users may enter what tests make in $BATS_TEST_TMPDIR.
[ -z "${BATS_RUN_TMPDIR-}" ] || [ ! -O "$BATS_RUN_TMPDIR" ] || chmod 711 "$BATS_RUN_TMPDIR"

export SHELL=/bin/bash # what salloc runs; outside a login it may not be set

# Slurm's commands with a deadline. A command that runs into it ends with 124.
deadline=30 poll=0.1
[ -z "${BATCHAI_IN_GUEST-}" ] || deadline=100 poll=1 # its one processor has better things to do
srun() { timeout -k 2 "$deadline" srun "$@"; }
sbatch() { timeout -k 2 "$deadline" sbatch "$@"; }
salloc() { timeout -k 2 "$deadline" salloc "$@"; }
scancel() { timeout -k 2 "$deadline" scancel "$@"; }
scontrol() { timeout -k 2 "$deadline" scontrol "$@"; }
squeue() { timeout -k 2 "$deadline" squeue "$@"; }
sinfo() { timeout -k 2 "$deadline" sinfo "$@"; }

# as_user NAME COMMAND...: as alice or bob; skips the test where the cluster has no such users.
as_user() {
    local name=$1
    shift
    need_root
    timeout -k 2 "$deadline" setpriv --reuid "$name" --regid "$name" --init-groups \
        env USER="$name" LOGNAME="$name" HOME="$MINISLURM_DIR/home/$name" "$@"
}

need_root() { [ "$(id -u)" = 0 ] || skip "needs root: other users and real privileges"; }

# peer_python ENVIRONMENT: sets python to that of an environment of tests/peers/environments.sh.
peer_python() {
    python=$BATCHAI_PEERS/$1/bin/python
    [ -f "$BATCHAI_PEERS/$1/filled" ] || skip "$1 is not in $BATCHAI_PEERS: tests/peers/environments.sh makes it, with a network"
}

# with_python MODULE [ENVIRONMENT]: python3 is one that has the module: the system's, or that of the environment.
with_python() {
    local python=/usr/bin/python3
    [ -z "${2-}" ] || peer_python "$2"
    "$python" -c "import $1" 2>/dev/null || skip "$python has no $1"
    PATH=${python%/*}:$PATH
}

# For stock scripts with torch.distributed: Debian 13's PyTorch was built without libuv, and fails unless it is told so.
tell_torch_of_libuv() { # [PYTHON]
    local store='import torch.distributed as d; d.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)'
    [[ $("${1-python3}" -c "$store" 2>&1) != *"without libuv support"* ]] || export USE_LIBUV=0
}

# often MANY [FEW]: how often a loop runs: MANY times with BATCHAI_SOAK=1, else FEW (default: once).
often() { if [ "${BATCHAI_SOAK-0}" != 0 ]; then echo "$1"; else echo "${2-1}"; fi; }

# only_in_soak [WHY]: skips the test without BATCHAI_SOAK=1.
only_in_soak() { [ "${BATCHAI_SOAK-0}" != 0 ] || skip "in the long run only (--soak)${1:+: $1}"; }

# on_node NODE COMMAND...: on the node, outside any job.
on_node() { timeout -k 2 "$deadline" minislurm exec "$@"; }

nodes() { (cd "$MINISLURM_DIR/node" && echo *); }

# eventually COMMAND...: repeats it until it succeeds, at most $deadline seconds. Only the last try's output is shown.
eventually() {
    local end=$((SECONDS + deadline))
    until "$@" >/dev/null 2>&1; do
        if ((SECONDS >= end)); then
            "$@"
            return
        fi
        sleep "$poll"
    done
}

# ---- jobs ----------------------------------------------------------------------------------------

# submit [SBATCH_ARGUMENT]...: sets job to the number of the submitted job.
submit() {
    job=$(sbatch --parsable "$@") || return
    job=${job%%;*}
}

# submit_as NAME [SBATCH_ARGUMENT]...
submit_as() {
    job=$(as_user "$1" sbatch --parsable "${@:2}") || return
    job=${job%%;*}
}

# job_field ID NAME: a field of `scontrol show job`, such as ExitCode, Reason, Restarts.
job_field() { [[ " $(scontrol show job -o "$1")" =~ " $2="([^ ]*) ]] && echo "${BASH_REMATCH[1]}"; }

job_state() { job_field "$1" JobState; }

job_is_over() {
    case $(job_state "$1") in
        PENDING | RUNNING | CONFIGURING | COMPLETING | SUSPENDED) return 1 ;;
    esac
}

queue_is_empty() { [ -z "$(squeue -h)" ]; }

# wait_job ID: waits for its end, prints its state; fails at the deadline.
wait_job() {
    eventually job_is_over "$1" || {
        scontrol show job "$1" >&2
        return 1
    }
    job_state "$1"
}

# all_are_fine RANKS COMMAND...: it succeeds, and so many ranks of as many say that they are fine.
all_are_fine() {
    # shellcheck disable=SC2154 # set by run
    run "${@:2}" && [ "$status" -eq 0 ] && [ "$(grep -c "of $1 is fine\$" <<<"$output")" -eq "$1" ] || {
        echo "exit code $status: $output" >&2
        return 1
    }
}

# ---- nothing is left ---------------------------------------------------------------------------------

# The state of a node: its mounts, and files in the directories that jobs use. An empty /run/batchai, its self-bind and
# empty mount directories do not count, because they outlive jobs by design.
node_facts() {
    # shellcheck disable=SC2016 # expanded on the node
    on_node "$1" sh -c '
        awk "\$2 != \"/run/batchai\" { print \"mounted:\", \$0 }" /proc/1/mounts
        find /tmp /dev/shm -mindepth 1 -maxdepth 1 -printf "on disk: %p\n"
        [ ! -d /run/batchai ] || find /run/batchai -mindepth 2 ! \( -path /run/batchai/mnt/.temp -o -path /run/batchai/mnt/.temp/wd \) -printf "on disk: %p\n"' | sort
}

# remember_nodes: called once, before the first test.
remember_nodes() {
    local node
    for node in $(nodes); do node_facts "$node" >"$MINISLURM_DIR/node/$node/clean"; done
}

# Prints leftovers; nothing on a clean cluster.
leftovers() {
    local node
    sinfo -h -R -o 'drained: %N: %E'
    squeue -h -o 'in the queue: job %i %T %r'
    for node in $(nodes); do
        [ -f "$MINISLURM_DIR/node/$node/pid" ] || continue
        node_facts "$node" | comm -13 "$MINISLURM_DIR/node/$node/clean" - | sed "s/^/$node: /"
    done
    # Processes of the nodes are those outside the login node's PID namespace.
    ps -eo pidns=,pid=,user=,comm=,args= | awk -v here="$(stat -Lc %i /proc/self/ns/pid)" '
        $1 != here && $4 !~ /^(minislurm|slurmd)$/ && $0 !~ /sleep infinity/ { print "running: " $0; next }
        $1 == here && $4 ~ /^batchai/ { print "running: " $0 }'
}

nothing_left() { [ -z "$(leftovers)" ]; }

# assert_clean: no node drained, no job, and on no node a mount, process or file that was not there
# before the first test. What a job leaves has a few seconds to go away. After a failure the cluster
# is put right, so that the next test fails only for its own reasons.
assert_clean() {
    : "${MINISLURM_DIR:?this file has no cluster of its own: give it a teardown}" # else processes of others end
    deadline=10 eventually nothing_left && return
    local found
    found=$(leftovers)
    printf 'left behind:\n%s\n' "$found" >&2
    # shellcheck disable=SC2046 # one argument per job and per process
    scancel $(squeue -h -o %i) 2>/dev/null
    # shellcheck disable=SC2046
    kill -KILL $(awk '/^running:/ { print $3 }' <<<"$found") 2>/dev/null
    scontrol update NodeName=ALL State=RESUME 2>/dev/null
    remember_nodes
    return 1
}

# The daemons' last words, after a test that failed.
show_logs() { tail -n 8 "$MINISLURM_DIR"/log/slurm{ctld,d-n*}.log | sed 's/^/  /' >&2; }

# Files with a teardown of their own call assert_clean in it.
teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || [ -n "${BATS_TEST_SKIPPED-}" ] || show_logs
    assert_clean
}
