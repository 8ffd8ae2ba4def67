#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A rank has the SLURM_ variables of a task of srun, in each kind of job, except those of a list with reasons.
# minislurm: -n 2 -g 2
#
# shellcheck disable=SC2016,SC2154 # expanded by the job; status and output are set by run

load lib

setup() {
    work=$MINISLURM_DIR/work.$BATS_TEST_NUMBER
    mkdir -p "$work"
    cd "$work" || return
}

# Differences, each with its reason:
of_each_step='SLURM_STEP_?ID|SLURM_TASK_PID|SLURM_SRUN_COMM_(PORT|HOST)|SLURM_STEP_LAUNCHER_PORT|SLURM_LAUNCH_NODE_IPADDR'
# The launcher binds ranks itself, so its step has no binding of Slurm's.
binding='SLURM_CPU_BIND.*'
# The launcher numbers the ranks, and says how; srun says its own default.
order='SLURM_DISTRIBUTION'
# The launcher sets it to the node's ranks. srun passes on only what the user has asked for.
ranks='SLURM_NTASKS_PER_NODE'
# Settings of srun for its own step: srun passes them to its tasks, which use them for nested steps.
of_srun='SLURM_(OVERCOMMIT|UMASK|PRIO_PROCESS|EXPORT_ENV)'
differ="^($of_each_step|$binding|$order|$ranks|$of_srun)="

# The script of each job: a task of srun and a rank of the launcher, both number 1 of 2.
compare='
show() { grep -a ^SLURM_ /proc/self/environ -z | tr "\0" "\n" | sort >"$1"; }
export -f show
srun SRUN_OPTIONS -n2 bash -c "[ \$SLURM_PROCID = 0 ] || show srun.env"
batchai-launch -n 2 bash -c "[ \$SLURM_PROCID = 0 ] || show rank.env"'

# same [SRUN_OPTION]: the two files have the same variables.
same() {
    diff <(grep -vE "$differ" srun.env) <(grep -vE "$differ" rank.env)
}
script() { printf '#!/bin/bash\ncd %q\n%s\n' "$work" "${compare/SRUN_OPTIONS/${1-}}" >script && chmod 755 script; }
options=(-N2 --ntasks-per-node=1 -c2 --gpus-per-node=1 --mem=100M --threads-per-core=1)

@test "a rank of a batch job lacks no variable that a task of srun has" {
    script
    submit "${options[@]}" -o out script
    [ "$(wait_job "$job")" = COMPLETED ] || cat out
    same
    for setting in CPUS_PER_TASK=2 GPUS_PER_NODE=1 MEM_PER_NODE=100 THREADS_PER_CORE=1; do grep -qx "SLURM_$setting" rank.env; done
}

@test "GPUs, memory and CPUs that were asked for in other ways are not lost either" {
    for more in "--gpus=2 --cpus-per-gpu=2 --mem-per-gpu=50" "-n2 --gpus-per-task=1 --mem-per-cpu=20" "-n2 --gpus=2 --gpu-bind=none --hint=nomultithread"; do
        script
        # shellcheck disable=SC2086
        submit -N2 --ntasks-per-node=1 $more -o out script
        [ "$(wait_job "$job")" = COMPLETED ] || cat out
        echo "$more"
        same
    done
}

@test "a rank in an allocation of salloc lacks none either" {
    script
    run salloc --quiet "${options[@]}" ./script
    echo "$output"
    same
    grep -qx SLURM_CPUS_PER_TASK=2 rank.env
}

@test "a rank of a task of a job array lacks none either" {
    script
    submit --array=7 "${options[@]}" -o out script
    eventually test -s rank.env
    eventually sh -c 'squeue -h | grep -q . && exit 1 || exit 0'
    same
    grep -qx SLURM_ARRAY_TASK_ID=7 rank.env
}

@test "a rank of a component of a heterogeneous job lacks none either" {
    script
    submit -N1 -n2 -c1 --mem=100M -o out : -N1 -n1 -c3 --mem=50M script
    [ "$(wait_job "$job")" = COMPLETED ] || cat out
    # The launcher also gives the component's variables their plain names, which scripts read.
    more=$(diff <(grep -vE "$differ" srun.env) <(grep -vE "$differ" rank.env) | grep '^[<>]' || true)
    echo "$more"
    [ "$more" = "> SLURM_CPUS_PER_TASK=1" ]
    grep -qx SLURM_CPUS_PER_TASK_HET_GROUP_1=3 rank.env
}
