#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# An admin's view of jobs: lines of slurmd's log with job and user, counters for Prometheus, names in Slurm's records.
# minislurm: -n 2 -s PrologFlags=Contain
# plugin: policy=/run/minislurm/batchai.toml counters=/run/metrics
# needs: root

load plugin

setup_file() {
    local node
    make_site
    for node in n1 n2; do on_node "$node" mkdir /run/metrics; done
}

# metric NODE NAME{result="..."}
metric() { on_node "$1" sed -n "s/^$2 //p" /run/metrics/batchai.prom; }
log_lines() { grep -h "batchai: job $job, user 2001: " "$MINISLURM_DIR/log/slurmd-$1.log" | sed 's/.*user 2001: //' | sort; }
is_over() { [ "$(log_lines n1 | grep -c '^ended on this node$')" = 1 ] && [ "$(log_lines n2 | grep -c '^ended on this node$')" = 1 ]; }

@test "slurmd's log says at level info what was done for which user's job, and the job does not" {
    enter_work
    submit_alice -N 2 -o out --batchai-mount="$data:a:ro,tmpfs:t" --batchai-prep=true --wrap 'srun true'
    [ "$(wait_job "$job")" = COMPLETED ]
    eventually is_over
    [ "$(log_lines n2)" = $'ended on this node\njob preparation succeeded\nthis node is set up, mounts: 2' ]
    [ "$(log_lines n1)" = "$(log_lines n2)" ]
    [ ! -s out ]
}

@test "slurmd's log has a failed job's user and reason" {
    enter_work
    submit_alice -N 1 -w n1 -o out --batchai-prep='exit 3' --wrap true
    [ "$(wait_job "$job")" = FAILED ]
    [ "$(log_lines n1 | grep -c '^failed: batchai: n1: .*preparation')" = 1 ]
    [ "$(grep -c 'user 2001' out)" = 0 ]
}

@test "a node's counters are a file of root's that everyone can read, and count mounts, preparations and ends" {
    enter_work
    [ "$(on_node n1 stat -c '%U %a' /run/metrics/batchai.prom)" = "root 644" ]
    [ "$(on_node n1 ls -A /run/metrics)" = batchai.prom ]
    [ "$(metric n1 'batchai_node_setups_total{result="succeeded"}')" = 2 ]
    [ "$(metric n1 'batchai_mounts_total{result="succeeded"}')" = 2 ]
    [ "$(metric n1 'batchai_preparations_total{result="succeeded"}')" = 1 ]
    [ "$(metric n1 'batchai_preparations_total{result="failed"}')" = 1 ]
    [ "$(metric n1 'batchai_job_ends_total{result="finished"}')" = 2 ]
    [ "$(metric n2 'batchai_job_ends_total{result="finished"}')" = 1 ]
    submit_alice -N 1 -w n2 -o out --batchai-mount=/nowhere:a --wrap true || true # refused before it is submitted
    rm -rf "$data/gone" && mkdir "$data/gone"
    submit_alice -H -N 1 -w n2 -o out --batchai-mount="$data/gone:a:ro" --wrap true
    rmdir "$data/gone"
    scontrol release "$job"
    [ "$(wait_job "$job")" = FAILED ]
    [ "$(metric n2 'batchai_node_setups_total{result="failed"}')" = 1 ]
}

@test "several jobs that end at the same time are all counted" {
    enter_work
    local before i jobs=()
    before=$(ends)
    for i in 1 2 3 4 5 6; do
        submit_alice -N 1 -n 1 -w n1 -o /dev/null --batchai-mount=tmpfs:t --wrap true
        jobs+=("$job")
    done
    for job in "${jobs[@]}"; do wait_job "$job" >/dev/null; done
    counted() { [ "$(ends)" = $((before + 6)) ]; }
    eventually counted
}
# An end may be finished by another job's.
ends() { echo $(($(metric n1 'batchai_job_ends_total{result="finished"}') + $(metric n1 'batchai_sweeps_total{result="finished"}'))); }

@test "an end that was interrupted is named in slurmd's log, finished and counted" {
    enter_work
    running_job
    on_node n1 sh -c 'chmod 755 /run/metrics'
    local before
    before=$(metric n1 'batchai_sweeps_total{result="finished"}')
    # As if the end had been killed: the mark is there, and the job's processes are gone with the node's slurmstepd.
    on_node n1 touch "/run/batchai/jobs/mini-$job/ending"
    restart_slurmd n1
    swept() { [ "$(metric n1 'batchai_sweeps_total{result="finished"}')" -gt "$before" ]; }
    eventually swept
    scancel "$job"
    wait_job "$job" || true
    grep -q "batchai-helper: cleanup is not finished for these jobs and continues in the background: mini-$job" "$MINISLURM_DIR/log/slurmd-n1.log"
    eventually node_is_up n1
}

@test "a counters directory that a user could exchange gets nothing, and no job fails for it" {
    enter_work
    on_node n1 sh -c 'chown 2001 /run/metrics; rm /run/metrics/batchai.prom'
    submit_alice -N 1 -w n1 -o out --batchai-mount=tmpfs:t --wrap 'echo ran'
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat out)" = ran ]
    said() { grep -q 'batchai-helper: counters=: /run/metrics: belongs to another user than root: chown root' "$MINISLURM_DIR/log/slurmd-n1.log"; }
    eventually said
    [ -z "$(on_node n1 ls -A /run/metrics)" ]
    # A link that the user leaves is not followed, when the directory is root's again.
    on_node n1 sh -c 'ln -s /run/victim /run/metrics/.batchai.prom.new; ln -s /run/victim /run/metrics/batchai.prom; chown root /run/metrics'
    submit_alice -N 1 -w n1 -o out --batchai-mount=tmpfs:t --wrap true
    [ "$(wait_job "$job")" = COMPLETED ]
    regular() { on_node n1 test ! -L /run/metrics/batchai.prom -a -s /run/metrics/batchai.prom; }
    eventually regular
    on_node n1 test ! -e /run/victim
}

@test "Slurm's records have the name and the whole place of a Batch AI job" {
    enter_work
    write_job job.json 1
    run as_alice env BATCHAI_POLICY="$MINISLURM_DIR/batchai.toml" batchai job create -n train -g lab -w vision -e cifar -f job.json
    echo "$output"
    job=$(squeue -h -o %i --states=all --name=train | head -n 1)
    [ "$(job_field "$job" JobName)" = train ]
    [[ $(job_field "$job" Comment) = batchai:lab/vision/cifar/train/????????-* ]]
    wait_job "$job"
    run as_alice env BATCHAI_POLICY="$MINISLURM_DIR/batchai.toml" batchai job create -n other -f job.json --dry-run -- --comment=own
    [[ $output = *--comment=own* && $output != *batchai:default* ]]
}

@test "the step that prepares nodes has a name in Slurm's records" {
    enter_work
    submit_alice -N 2 -o out --batchai-mount=tmpfs:t --batchai-prep='while [ ! -e go ]; do sleep 0.1; done' --batchai-output=. --wrap true
    named() { squeue -h -s -j "$job" -o %j | grep -qx batchai-prepare; }
    eventually named
    touch go
    [ "$(wait_job "$job")" = COMPLETED ]
}
