#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2
# needs: torch
#
# Reports about ranks that wait for each other. A late rank waits for the file $go, so no test depends on how long a
# step takes.
# shellcheck disable=SC2034 # deadline is of lib.bash

load lib

setup_file() {
    cat >"$MINISLURM_DIR/late.py" <<'SCRIPT'
import os
import sys
import time
import horovod.torch as hvd
import torch

hvd.init()
hvd.allreduce(torch.ones(3), name="first")
if hvd.rank() == 2:
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.1)  # what keeps rank 2
hvd.allreduce(torch.ones(3), name="grad.3")
print("went on")
SCRIPT
    check=$BATCHAI_BUILD/tests/peers/collectives_check
    export check
}

setup() {
    out=$BATS_TEST_TMPDIR/out go=$BATS_TEST_TMPDIR/go
    deadline=100 # gdb takes its time, and four of it on a busy machine
}

# hanging OPTION... COMMAND...: a job of four ranks on two nodes; sets job_pid.
hanging() {
    salloc --quiet -N2 --overcommit batchai-launch -n 4 "$@" >"$out" 2>&1 &
    job_pid=$!
}

says() { eventually grep -Eq "$1" "$out" || { cat "$out" >&2 && return 1; }; }

# The job continues and succeeds when the late rank does.
goes_on() {
    touch "$go"
    wait "$job_pid"
    [ "$(grep -c 'went on\| is fine' "$out")" = 4 ]
}

ask_until_they_wait() {
    ask
    sleep 1
    grep -q '^  ranks 0-2: plain.py:5 in wait$' "$out"
}

ask() { kill -QUIT "$(pgrep -fx 'batchai-launch -n 4 .*')"; }

@test "a rank that is late for a collective is named, with the line where it is" {
    hanging --hang-report 1 /usr/bin/python3 "$MINISLURM_DIR/late.py" "$go"
    says '^batchai-launch: no rank has made progress for 1 s: ranks 0-1, 3 wait for rank 2 \(n2\)$'
    says "^  rank 2 \(n2\): in no collective since 'allreduce.first' \(operation [0-9]+, .*\), [0-9]+ s ago$"
    says "^  ranks 0-1, 3: in 'allreduce.grad.3' \(operation [0-9]+, .*\), waiting for rank 2 \(n2\) for [0-9]+ s$"
    says '^batchai-launch: rank 2 on n2, process [0-9]+, stack \(Python\):$'
    says '^    File ".*/late.py", line 11 in <module>$'
    says '^batchai-launch: rank 0 on n1, process [0-9]+, stack \(Python\):$'
    says '^    File ".*/late.py", line 12 in <module>$'
    goes_on
    [ "$(grep -c 'ranks 0-1, 3 wait for rank 2' "$out")" = 1 ]
}

@test "ranks of Python that never use the collectives are grouped by their lines, below a shell and in a call of C" {
    cat >"$MINISLURM_DIR/plain.py" <<'SCRIPT'
import os, sys, time, zlib

def wait():
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.1)

if os.environ["PMIX_RANK"] == "3":
    while not os.path.exists(sys.argv[1]): zlib.crc32(bytes(1 << 26))
wait()
print("went on")
SCRIPT
    hanging sh -c "$(printf '/usr/bin/python3 %q %q; exit $?' "$MINISLURM_DIR/plain.py" "$go")"
    eventually eval '[ "$(pgrep -fc "^/usr/bin/python3 .*/plain.py")" = 4 ]'
    eventually ask_until_they_wait # while Python starts, they are elsewhere
    says '^batchai-launch: lines of Python:$'
    says '^  rank 3 \(n2\): plain.py:8 in <module>$'
    says '^batchai-launch: rank 3 on n2, process [0-9]+, stack \(Python\):$'
    goes_on
}

@test "a Python program's own sitecustomize runs, and its path has no folder of ours before its own" {
    mkdir "$BATS_TEST_TMPDIR/own"
    echo 'print("mine")' >"$BATS_TEST_TMPDIR/own/sitecustomize.py"
    for python in /usr/bin/python3 python2.7; do
        "$python" -c '' || continue # pyenv has stand-ins for what is not there
        run -0 env PYTHONPATH="$BATS_TEST_TMPDIR/own" batchai-launch --local 1 -n 1 "$python" -c 'import sys, sitecustomize
print(sitecustomize.__file__); print([folder for folder in sys.path if folder.endswith("startup")])'
        [[ $output == *mine*"/own/sitecustomize.py"*"[]"* ]]
        run -0 batchai-launch --local 1 -n 1 "$python" -c 'print("none of its own")'
        [[ $output == *"none of its own" && $output != *rror* ]]
    done
}

@test "a rank of a C program that is stopped is named, and stays stopped" {
    hanging "$check" stuck 1 "$go"
    says 'rank 1 waits for a file'
    # shellcheck disable=SC2046 # a word for each process
    stuck=$(grep -lsz '^PMIX_RANK=1$' $(pgrep -f '/collectives_check stuck 1' | sed 's,.*,/proc/&/environ,') | cut -d/ -f3)
    kill -STOP "$stuck"
    ask
    says '^batchai-launch: ranks 0, 2-3 wait for rank 1 \(n1\)$'
    says '^  rank 1 \(n1\): in no collective since operation 1, allreduce \(sum\) of 7 int64, [0-9]+ s ago, stopped by a signal$'
    says '^batchai-launch: rank 1 on n1, process [0-9]+: stopped by a signal'
    says '^batchai-launch: rank 1 on n1, process [0-9]+, stack \((gdb|kernel)\):$'
    says '^batchai-launch: rank 0 on n1, process [0-9]+, stack \((gdb|kernel)\):$'
    eventually grep -q '^State:.T (stopped)' "/proc/$stuck/status"
    kill -CONT "$stuck"
    goes_on
}

@test "without gdb the report has the place in the kernel" {
    mkdir "$BATS_TEST_TMPDIR/bin"
    ln -s /usr/bin/* "$BATS_TEST_TMPDIR/bin"
    rm -f "$BATS_TEST_TMPDIR/bin/gdb"
    PATH=$(dirname "$(command -v batchai-launch)"):$BATS_TEST_TMPDIR/bin hanging "$check" stuck 3 "$go"
    says 'rank 3 waits for a file'
    ask
    says '^batchai-launch: rank 3 on n2, process [0-9]+, stack \(kernel\):$'
    says '^  (wchan|syscall|stack): '
    goes_on
}

@test "a healthy job reports on SIGQUIT, and continues" {
    hanging "$check" busy "$go"
    says 'rank 0 is busy'
    says 'rank 3 is busy'
    ask
    says '^batchai-launch: rank 0 on n1, process [0-9]+, stack '
    goes_on
}

@test "with --hang-report 0 no report comes by itself" {
    hanging --hang-report 0 --timeout 3 "$check" stuck 1 "$go"
    status=0
    wait "$job_pid" || status=$?
    cat "$out"
    [ "$status" -eq 124 ]
    says '^batchai-launch: ranks 0, 2-3 wait for rank 1 \(n1\)$'
    run ! grep -q 'no rank has made progress' "$out"
    run -125 batchai-launch --hang-report -1 true
    [[ $output = "batchai-launch: --hang-report: must be 0 or from 0.1 to 1000000 seconds"* ]]
}
