#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Every kind of step finds its node mounted and prepared, once per job.
# minislurm: -n 3 -s LaunchParameters=use_interactive_step
# plugin: policy=/run/minislurm/batchai.toml

load plugin

setup() { enter_work; }

mounts="$data:a:ro"
look='cat $AZ_BATCHAI_JOB_MOUNT_ROOT/a/file'
note='echo x >>prepared.$(hostname)'

# Each of the nodes was prepared once.
prepared_once() {
    local node
    for node in "$@"; do [ "$(cat "prepared.$node")" = x ] || return; done
    [ "$(echo prepared.*)" = "$(printf 'prepared.%s ' "$@" | sed 's/ $//')" ]
}

@test "where the policy says first-step, a node is prepared at its first step, and the script's own before the script" {
    make_site 'prepare = "first-step"'
    write_script job.sh 'echo prepared.*' "srun $look" 'echo prepared.*' "srun -Q $look"
    submit_alice -N 2 -o out --batchai-mount="$mounts" --batchai-prep="$note" job.sh
    state=$(wait_job "$job")
    make_site
    [ "$state" = COMPLETED ]
    [ "$(cat out)" = $'prepared.n1\ndata\ndata\nprepared.n1 prepared.n2\ndata\ndata' ]
    prepared_once n1 n2
}

@test "where the policy says first-step, a node that cannot be prepared fails the step that comes to it" {
    make_site 'prepare = "first-step"'
    write_script job.sh 'touch started' 'srun -N 1 -w n1 true && echo fine' 'srun -N 1 -w n2 true || echo failed'
    submit_alice -N 2 -o out --batchai-output="$work" --batchai-prep='[ $(hostname) = n1 ] || exit 3' job.sh
    state=$(wait_job "$job")
    make_site
    [ "$state" = COMPLETED ]
    grep -qx fine out
    grep -qx failed out
    [ "$(grep -c '^batchai: ' out)" = 1 ]
    grep -qx "batchai: n2: job preparation failed with exit code 3; see $work/stderr-job_prep-n2.txt" out
}

@test "several steps that begin at once find one preparation per node" {
    write_script steps.sh 'for i in 1 2 3 4; do' "srun --overlap -N 2 --ntasks-per-node=2 sh -c '$look' &" 'done' 'wait'
    run as_alice salloc -Q -N 2 -n 4 --batchai-mount="$mounts" --batchai-prep="sleep 0.5; $note" ./steps.sh
    [ "$(grep -c '^data$' <<<"$output")" = 16 ]
    prepared_once n1 n2
}

@test "both components of a heterogeneous job have the mounts and the preparation of the first" {
    need_root
    write_script job.sh "srun --het-group=0,1 sh -c 'hostname; $look'" "srun -Q --het-group=1 sh -c '$look'" 'echo $BATCHAI_NODE_READY $SLURM_JOB_ID'
    submit_alice -N 1 -w n1 -o out --batchai-mount="$mounts" --batchai-prep="$note" : -N 1 -w n2 job.sh
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(sort out)" = "$job $job"$'\ndata\ndata\ndata\nn1\nn2' ]
    prepared_once n1 n2
}

@test "an interactive step of salloc is in the job's mounts, and its steps too" {
    printf '%s\n' "$look; hostname" "srun sh -c '$look' </dev/null" 'echo ready:$BATCHAI_NODE_READY' exit >typed
    as_alice script -qec "salloc -Q -N 2 --batchai-mount=$mounts --batchai-prep='$note'" /dev/null <typed >shown
    sed "s,\x1b\[[?0-9]*[a-z],,g; s,\r,,g" <shown >lines # without what is for a terminal
    [ "$(grep -cx data lines)" = 3 ]
    grep -qx n1 lines
    grep -qx 'ready:[0-9]*' lines
    prepared_once n1 n2
}

@test "a job without its environment has its mounts and its preparation in every step" {
    write_script job.sh "$look" "srun /bin/sh -c '$look'" "srun --export=NONE /bin/sh -c '$look'" "srun --overlap --export=A=1 /bin/sh -c '$look; echo \$A'"
    submit_alice -N 2 --export=NONE -o out --batchai-mount="$mounts" --batchai-prep="$note" job.sh
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(grep -cx data out)" = 7 ]
    [ "$(grep -cx 1 out)" = 2 ]
    prepared_once n1 n2
}

@test "jobs of two users at once on a node have each their own mounts, preparation and temporary directory" {
    need_root
    write_script job.sh 'ls $AZ_BATCHAI_JOB_MOUNT_ROOT' 'id -un >$AZ_BATCHAI_JOB_TEMP/mine' 'touch started.$USER' \
        'while [ ! -e go ]; do sleep 0.1; done' 'ls -d /tmp/batchai-*' 'for directory in /tmp/batchai-*; do cat $directory/mine 2>&1; done' 'cat prepared.$(id -un)' \
        'touch looked.$USER' 'while [ ! -e end ]; do sleep 0.1; done'
    local user prep='id -un >>prepared.$(id -un)'
    for user in alice bob; do
        submit_as "$user" -w n1 -o "out.$user" --batchai-mount="tmpfs:$user" --batchai-output="$work/$user" --batchai-prep="$prep" job.sh
        eval "$user=\$job"
    done
    eventually test -e started.alice -a -e started.bob
    touch go
    eventually test -e looked.alice -a -e looked.bob
    touch end
    for user in alice bob; do
        [ "$(wait_job "${!user}")" = COMPLETED ]
        [ "$(head -n 1 "out.$user")" = "$user" ] # the one mount
        [ "$(grep -c '^/tmp/batchai-' "out.$user")" = 2 ]
        [ "$(grep -c 'Permission denied' "out.$user")" = 1 ]
        [ "$(grep -cx "$user" "out.$user")" = 3 ] # mount, own file, preparation
    done
}

@test "each task of a job array has its own mounts and preparation where several run at once" {
    write_script job.sh 'srun sh -c "touch \$AZ_BATCHAI_JOB_TEMP/$SLURM_ARRAY_TASK_ID"' 'srun -Q sh -c "ls \$AZ_BATCHAI_JOB_TEMP"'
    submit_alice -N 2 --array=1-4 -o out.%a --batchai-mount="tmpfs:t" --batchai-prep="$note" job.sh
    eventually queue_is_empty
    for task in 1 2 3 4; do [ "$(sort -u "out.$task")" = "$task"$'\nhostfile' ]; done
    [ "$(cat prepared.n1)" = $'x\nx\nx\nx' ]
    [ "$(cat prepared.n2)" = $'x\nx\nx\nx' ]
}

@test "a step attached from outside does not run on a node where the job's set-up was interrupted" {
    need_root
    write_script job.sh 'touch started' 'while [ ! -e go ]; do sleep 0.1; done'
    submit_alice -N 1 -w n1 -o out --batchai-mount="$data:a:ro" job.sh
    eventually test -e started
    on_node n1 sed -i 's/result=ready/result=running/' "/run/batchai/jobs/mini-$job/state"
    run ! as_alice srun -Q --jobid "$job" --overlap touch ran
    [[ $output == *"batchai: n1: the set-up of the job was interrupted on this node"* ]]
    [ ! -e ran ]
    touch go
    [ "$(wait_job "$job")" = COMPLETED ]
}

# A job that must see nothing of another job: it sees its node only.
seen='hostname; env | grep -E "(AZ_BATCHAI.*|SPANK.*BATCHAI.*|batchai_batchai.*|BATCHAI_(JOB_FILE|NODE_READY))=."; ls /run/batchai/mnt 2>/dev/null; true'

@test "a job from inside a job does not inherit its options, whichever command starts it" {
    need_root
    write_script inner.sh "$seen"
    write_script job.sh 'touch started.$SLURM_JOB_ID' 'sbatch -Q -N 1 -w n2 -o sbatch.out inner.sh' \
        'salloc -Q -N 1 -w n2 srun -Q ./inner.sh >salloc.out 2>&1' 'srun salloc -Q -N 1 -w n2 srun -Q ./inner.sh >step.out 2>&1' \
        'env -u SLURM_JOB_ID -u SLURM_JOBID srun -Q -N 1 -n 1 -w n2 ./inner.sh >srun.out 2>&1' "srun -Q $look >own.out"
    submit_alice -N 1 -w n1 -o out --batchai-mount="$mounts" --batchai-prep="$note" job.sh
    [ "$(wait_job "$job")" = COMPLETED ]
    eventually queue_is_empty
    for command in sbatch salloc step srun; do [ "$(cat $command.out)" = n2 ]; done
    [ "$(cat own.out)" = data ] # a step of the job itself
    prepared_once n1
}

@test "a job from inside a job with a job file does not demand its nodeCount" {
    write_job job.json 2
    write_script job.sh 'sbatch -Q -N 1 -o inner.out --wrap "echo ran; echo \$BATCHAI_JOB_FILE"'
    submit_alice -N 2 -o out --batchai-job=job.json job.sh
    [ "$(wait_job "$job")" = COMPLETED ]
    eventually queue_is_empty
    [ "$(cat inner.out)" = $'ran' ]
}

@test "a job from inside a job gets the options of its own, and no others" {
    need_root
    write_script job.sh 'sbatch -Q -N 1 -w n2 -o inner.out --batchai-mount=tmpfs:own --wrap "ls \$AZ_BATCHAI_JOB_MOUNT_ROOT"'
    submit_alice -N 1 -w n1 -o out --batchai-mount="$mounts" --batchai-prep="$note" job.sh
    [ "$(wait_job "$job")" = COMPLETED ]
    eventually queue_is_empty
    [ "$(cat inner.out)" = own ]
    prepared_once n1
}

@test "a step that is attached to another job does not get the options of the job around it" {
    need_root
    local other
    submit_alice -N 1 -w n2 -o /dev/null --wrap 'sleep 1000'
    other=$job
    eventually running "$other"
    write_script inner.sh "$seen"
    write_script job.sh "srun -Q --jobid $other --overlap -N 1 -n 1 ./inner.sh >attached.out 2>&1"
    submit_alice -N 1 -w n1 -o out --batchai-mount="$mounts" --batchai-prep="$note" job.sh
    [ "$(wait_job "$job")" = COMPLETED ]
    scancel "$other"
    [ "$(cat attached.out)" = n2 ]
    prepared_once n1
}
running() { [ "$(job_state "$1")" = RUNNING ]; }

@test "a heterogeneous job whose first component has two nodes does not fail in its preparation" {
    need_root
    write_script job.sh "srun --het-group=0 sh -c '$look'" "srun -Q --het-group=1 sh -c '$look'"
    submit_alice -N 2 -w n1,n2 -o out --batchai-mount="$mounts" --batchai-prep="$note" : -N 1 -w n3 job.sh
    [ "$(wait_job "$job")" = COMPLETED ] || cat out
    [ "$(cat out)" = $'data\ndata\ndata' ]
    prepared_once n1 n2 n3
}

@test "a job from inside a heterogeneous one is not taken for a component" {
    need_root
    write_script job.sh 'sbatch -Q -N 2 -w n1,n3 -o inner.out --batchai-mount=tmpfs:own --wrap "ls \$AZ_BATCHAI_JOB_MOUNT_ROOT"'
    submit_alice -N 1 -w n1 -o out : -N 1 -w n2 job.sh
    [ "$(wait_job "$job")" = COMPLETED ]
    eventually queue_is_empty
    [ "$(cat inner.out)" = own ]
}
