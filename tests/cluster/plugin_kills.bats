#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The plugin's programs are killed before each system call that changes something, one call after the
# other. Nothing of the job is left, and its user gets a message.
# minislurm: -n 1
# needs: root ptrace
# plugin: policy=/run/minislurm/batchai.toml

load kills

setup_file() {
    make_site
    make_libexec
    as_alice srun -Q --batchai-mount="$data:a:ro" true # what the node's first job makes is there then
}

@test "a set-up that is killed at any place fails the job and leaves nothing" {
    kill_at_each 'batchai-helper setup' failed
}

@test "a set-up whose processes with the user's rights are killed at any place leaves nothing" {
    kill_at_each 'batchai-helper setup' ran_or_failed -f
}

@test "a teardown that is killed at any place is finished by the next sweep" {
    kill_at_each 'batchai-helper teardown' ran_and_is_swept
}

@test "a teardown whose processes with the user's rights are killed at any place is finished by the next sweep" {
    kill_at_each 'batchai-helper teardown' ran_and_is_swept '-DDD -f'
}

@test "a preparation that is killed at any place leaves nothing" {
    kill_at_each 'batchai-prep' ran_or_failed
}

@test "a sweep that is killed at any place is finished by the next sweep" {
    kill_a_sweep_at_each
}

@test "a sweep whose process in the background is killed at any place is finished by the next sweep" {
    kill_a_sweep_at_each '-DDD -f'
}

# kill_a_sweep_at_each ['-DDD -f']: like kill_at_each.
kill_a_sweep_at_each() {
    local call n
    leave_an_end
    # shellcheck disable=SC2086 # none or one
    with_fault 'batchai-helper sweep' ${1-} -e "trace=$changes"
    on_node n1 "$libexec/batchai-helper" sweep --policy "$MINISLURM_DIR/batchai.toml" 3>&-
    assert_clean
    places "${1-}" | sample "${1-}" >places
    [ -s places ]
    while read -r call n; do
        leave_an_end
        # shellcheck disable=SC2086
        with_fault 'batchai-helper sweep' ${1-} -e "trace=$call" -e "inject=$call:signal=SIGKILL:when=$n"
        on_node n1 "$libexec/batchai-helper" sweep --policy "$MINISLURM_DIR/batchai.toml" >swept 2>&1 3>&- || true
        eventually was_killed
        with_fault
        ran_and_is_swept
    done <places
}

# leave_an_end: a job whose teardown was killed at its beginning.
leave_an_end() {
    with_fault 'batchai-helper teardown' -f -e trace=umount2 -e inject=umount2:signal=SIGKILL:when=1
    run_job
    [ "$state" = COMPLETED ]
    on_node n1 test -e "/run/batchai/jobs/mini-$job.1/ending"
}
