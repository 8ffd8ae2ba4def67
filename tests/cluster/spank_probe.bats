#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 49 -p "required $BATCHAI_BUILD/tests/spank_required.so log=/run/required.log rules=/run/required.rules" -p "optional $BATCHAI_BUILD/tests/spank_optional.so rules=/run/optional.rules"
#
# What Slurm does with a plugin that fails, sleeps or exits. The real plugin depends on these facts.
# spank_probe/golden-VERSION.txt has them; a Slurm that behaves differently fails here first.
# Nodes are drained on purpose and jobs get stuck: each test has nodes of its own (n1 to n43 are the
# table's), and none asks for a clean cluster.

load lib
load spank_probe/table

teardown() { :; }

setup() { need_root; }

# golden NAME: the file to compare with; skips the test if this Slurm has none.
golden() {
    local version
    version=$(sinfo -V)
    version=${version##* } version=${version%.*} # "slurm-wlm 22.05.8"
    golden=$BATS_TEST_DIRNAME/spank_probe/$1-$version.txt
    [ -f "$golden" ] || skip "no findings recorded for Slurm $version"
}

# rule NODE CALLBACK ACT VALUE
rule() { on_node "$1" sh -c "echo '$2 $3 $4' >>/run/required.rules"; }

node_is_quiet() { ! on_node "$1" pgrep -x slurmstepd >/dev/null; }

node_state() { sinfo -h -n "$1" -o '%T: %E' | sed -E 's/: none//; s/^(allocated|mixed)$/busy/'; }

# print_callbacks LOGFILE TITLE: each callback's context and user, in the alphabet's order.
print_callbacks() {
    sed -E "s/^([a-z_]+) context=([a-z_]+) uid=([0-9]+) euid=([0-9]+) comm=([a-z]+) mnt=([0-9]+).*/$2 | \1 | \2 | \3 | \4 | \5/" "$1" | sort -u
}

@test "each callback runs in the context and as the user that was found" {
    golden callbacks
    install -m 666 /dev/null /run/required.log # the login node's
    as_user alice srun -w n48 true
    print_callbacks /run/required.log "srun, login node" >"$BATS_TEST_TMPDIR/callbacks"
    install -m 666 /dev/null /run/required.log
    submit_as alice -w n49 --output=/dev/null --wrap true
    # shellcheck disable=SC2154 # set by submit_as
    [ "$(wait_job "$job")" = COMPLETED ]
    eventually on_node n48 grep job_epilog /run/required.log
    eventually on_node n49 grep job_epilog /run/required.log
    {
        print_callbacks /run/required.log "sbatch, login node"
        on_node n48 cat /run/required.log >"$BATS_TEST_TMPDIR/log"
        print_callbacks "$BATS_TEST_TMPDIR/log" "srun, node"
        on_node n49 cat /run/required.log >"$BATS_TEST_TMPDIR/log"
        print_callbacks "$BATS_TEST_TMPDIR/log" "sbatch, node"
    } >>"$BATS_TEST_TMPDIR/callbacks"
    diff -u "$golden" "$BATS_TEST_TMPDIR/callbacks"
}

@test "a plugin without a job namespace runs in slurmd's, with a cgroup to name" {
    local log
    as_user alice srun -w n48 true
    log=$(on_node n48 cat /run/required.log)
    [ "$(grep -o 'mnt=[0-9]*' <<<"$log" | sort -u | wc -l)" = 1 ]
    [[ $log == *" mnt=$(on_node n48 stat -Lc %i /proc/1/ns/mnt) cgroup=/"* ]]
}

@test "a failing callback ends a job as the golden table says" {
    golden golden
    make_table "$golden" >"$BATS_TEST_TMPDIR/table"
    diff -u "$golden" "$BATS_TEST_TMPDIR/table"
}

@test "a wait in task_init outlives scancel and the user's program runs although the job is cancelled" {
    rule n44 task_init sleep 3
    mkdir -m 777 "$BATS_TEST_TMPDIR/out"
    submit_as alice -w n44 --output=/dev/null --wrap "touch $BATS_TEST_TMPDIR/out/ran"
    eventually on_node n44 grep ^task_init /run/required.log
    scancel "$job"
    eventually test -e "$BATS_TEST_TMPDIR/out/ran"
    [ "$(wait_job "$job")" = CANCELLED ]
}

@test "a wait in task_init ends with scancel where the process is no longer named slurmstepd" {
    rule n45 task_init rename spank_probe
    rule n45 task_init sleep 600
    mkdir -m 777 "$BATS_TEST_TMPDIR/out"
    submit_as alice -w n45 --output=/dev/null --wrap "touch $BATS_TEST_TMPDIR/out/ran"
    eventually on_node n45 pgrep -x spank_probe
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
    eventually node_is_quiet n45
    [ ! -e "$BATS_TEST_TMPDIR/out/ran" ]
    [ "$(node_state n45)" = idle ]
}

@test "a mount namespace can be pinned, if not from one CPU then from another" {
    local refused=0
    rule n46 task_init_privileged pin /run/pin
    for _ in 1 2 3 4; do
        run -0 as_user alice srun -w n46 true
        [[ $output == *"pinned at try"* ]]
        refused=$((refused + $(grep -c 'to pin: Invalid argument' <<<"$output" || true)))
    done
    echo "# $refused attempts were refused with EINVAL" >&3
}

@test "an option value of 128 KiB drains a node and one below does not" {
    cd "$BATS_TEST_TMPDIR"
    printf '#!/bin/sh\n#SBATCH --required-value=%s\n' "$(head -c 131000 /dev/zero | tr '\0' x)" >short.sh
    printf '#!/bin/sh\n#SBATCH --required-value=%s\n' "$(head -c 131072 /dev/zero | tr '\0' x)" >long.sh
    submit_as alice -w n47 --output=/dev/null short.sh
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(node_state n47)" = idle ]
    run as_user alice sbatch -w n47 --output=/dev/null long.sh
    [[ $output == *"is too long"*"Submitted batch job"* ]]
    prolog_failed() { [ "$(node_state n47)" = "drained: Prolog error" ]; }
    eventually prolog_failed
}
