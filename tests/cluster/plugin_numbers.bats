#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job has the number of an earlier submission: slurmctld has lost its state, or there is a second cluster.
# minislurm: -n 1
# needs: root
# plugin: policy=/run/minislurm/batchai.toml

load plugin

setup() { enter_work; }

look='exec 2>&1; ls /run/batchai/mnt; cat /run/batchai/mnt/t/file; echo "$AZ_BATCHAI_JOB_TEMP$TOKEN"'

# forget_numbers: a slurmctld without any state, as after the loss of its disk. It tells no node that a job is over.
forget_numbers() {
    scontrol shutdown slurmctld
    eventually test ! -e "$MINISLURM_DIR/state/slurmctld.pid"
    find "$MINISLURM_DIR/state" -type f -delete
    timeout 20 slurmctld -i
    eventually node_is_up n1
}

# leave_job [OPTION]...: a job 1 of alice's, over for slurmctld and without a process on its node, where its state is left.
leave_job() {
    forget_numbers
    rm -f stepped
    as_alice salloc -Q -N 1 "$@" sh -c 'srun sh -c "echo alices >/run/batchai/mnt/t/file"; touch stepped; exec sleep 1003' 2>/dev/null &
    holder=$!
    eventually test -e stepped
    forget_numbers
    kill_all '^sleep 1003'
    wait "$holder" || true
    on_node n1 test -e /run/batchai/jobs/mini-1/state
}

@test "a job gets no mount, file or secret of another user's job that had its number before" {
    write_job plain.json 1
    jq '.properties.secrets = [{name: "TOKEN", value: "alices"}]' plain.json >job.json
    chmod 600 job.json && chown alice job.json
    leave_job --batchai-mount=tmpfs:t --batchai-job=job.json
    run as_user bob srun --batchai-mount="tmpfs:t,$data:b:ro" sh -c "$look; echo \$SLURM_JOB_ID"
    [[ $output == b$'\n't$'\n'* && $output == *$'\n'1 ]]
    [[ $output != *alices* ]]
    assert_clean

    leave_job --batchai-mount=tmpfs:t --batchai-job=job.json
    run as_user bob srun sh -c "$look; echo \$SLURM_JOB_ID" # without an option of ours
    [[ $output == *$'\n'1 ]]
    [[ $output != *alices* && $output != */.temp* ]]
    assert_clean
}

@test "a job gets no mount or file of its user's own job that had its number before" {
    leave_job --batchai-mount=tmpfs:t
    run as_alice srun --batchai-mount=tmpfs:t sh -c "$look; echo \$SLURM_JOB_ID"
    [[ $output == t$'\n'* && $output == *$'\n'1 ]]
    [[ $output != *alices* ]]
    assert_clean

    leave_job --batchai-mount=tmpfs:t
    run as_alice srun sh -c "$look; echo \$SLURM_JOB_ID"
    [[ $output == *$'\n'1 && $output != *alices* && $output != */tmp/batchai-* ]]
    assert_clean
}

@test "a job gets no mount or file of its user's own job that had its number before and an extern step" {
    leave_job --batchai-mount=tmpfs:t
    # What the set-up leaves where Slurm has an extern step: its own time in place of the submission's.
    on_node n1 sh -c 'cd /run/batchai/jobs/mini-1 && sed -z -i "s/^submitted=.*/made=$(($(date +%s) - 1000))/" state && grep -qz "^made=[1-9]" state'
    run as_alice srun --batchai-mount=tmpfs:t sh -c "$look; echo \$SLURM_JOB_ID"
    [[ $output == t$'\n'* && $output == *$'\n'1 ]]
    [[ $output != *alices* ]]
    assert_clean
}

@test "no variable of a job makes it pass for an earlier submission with its number" {
    leave_job --batchai-mount=tmpfs:t
    submitted=$(on_node n1 sed -z -n 's/^submitted=//p' /run/batchai/jobs/mini-1/state | tr -d '\0')
    [ "$submitted" -gt 0 ]
    run as_alice env SLURM_JOB_START_TIME="$submitted" SLURM_SPANK_BATCHAI_SUBMITTED="$submitted" SLURM_CLUSTER_NAME=other \
        SLURM_CONF="$SLURM_CONF" srun --batchai-mount=tmpfs:t sh -c "$look"
    [[ $output == t$'\n'* && $output != *alices* ]]
    assert_clean
}

@test "another cluster's job with the same number keeps its own on a node that both share" {
    forget_numbers
    on_node n1 sh -c 'mkdir -m 700 /run/batchai/jobs/other-1 && printf "restart=0\0uid=2001\0result=ready\0namespace=own\0\0" >/run/batchai/jobs/other-1/state'
    run as_alice srun --batchai-mount="$data:a:ro" sh -c 'ls /run/batchai/mnt; echo $SLURM_JOB_ID'
    [ "$output" = $'a\n1' ]
    eventually on_node n1 test ! -e /run/batchai/jobs/mini-1
    on_node n1 test -e /run/batchai/jobs/other-1/state
    on_node n1 rm -r /run/batchai/jobs/other-1
}

@test "no user's process is taken for the witness of a job" {
    forget_numbers
    # A set-user-ID program belongs to root, and its user chooses its arguments.
    sleep 1003 3>&- | on_node n1 setpriv --reuid bob --regid bob --init-groups script -qec "exec -a 'slurmstepd: [1.extern]' su" /dev/null >/dev/null 2>&1 3>&- &
    forger=$!
    eventually runs '^slurmstepd: .1.extern.'
    forged=$(on_node n1 pgrep -f '^slurmstepd: .1.extern.')
    [ "$(on_node n1 stat -c %U "/proc/$forged")" = root ]
    write_script job.sh 'touch started' 'while [ ! -e go ]; do sleep 0.1; done'
    submit_alice -N 1 -o out --batchai-mount=tmpfs:t job.sh
    [ "$job" = 1 ]
    eventually test -e started
    run on_node n1 cat /run/batchai/jobs/mini-1/witness
    [[ $output =~ ^[0-9]+" " && $output != "$forged "* ]]
    touch go
    [ "$(wait_job "$job")" = COMPLETED ]
    kill_all '^slurmstepd: .1.extern.'
    kill_all '^sleep 1003'
    wait "$forger" || true
}

@test "the steps of a batch script ask slurmctld nothing" {
    write_script job.sh 'srun true' 'touch first' 'while [ ! -e go ]; do sleep 0.1; done' 'for i in 1 2 3; do srun -Q cat /run/batchai/mnt/a/file; done' 'touch done'
    submit_alice -N 1 -o out --batchai-mount="$data:a:ro" job.sh
    eventually test -e first
    before=$(questions)
    [ "$before" -gt 0 ] # the set-up's
    touch go
    eventually test -e "done"
    [ "$(questions)" = "$before" ]
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat out)" = $'data\ndata\ndata' ]
}

@test "a step finds its job's mounts though no process of the job was left on the node" {
    run as_alice salloc -Q -N 1 --batchai-mount=tmpfs:t sh -c 'srun sh -c "echo mine >/run/batchai/mnt/t/file"; srun -Q cat /run/batchai/mnt/t/file'
    [ "$output" = mine ]
}
