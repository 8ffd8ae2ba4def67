#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job's single command, and a rank on its own, may be launchers themselves: they find all nodes of the job.
# minislurm: -n 2 -g 1
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2016,SC2154 # expanded by what is started; share and job are set by plugin.bash

load plugin

setup() { enter_work; }

# What each rank of a launcher says: its node, its number, how many they are.
openmpi_rank='sh -c '\''echo "$(hostname): $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE"'\'
hydra_rank='sh -c '\''echo "$(hostname): $PMI_RANK of $PMI_SIZE"'\'
slurm_rank='sh -c '\''echo "$(hostname): $SLURM_PROCID of $SLURM_NTASKS"'\'
both_nodes=$'n1: 0 of 2\nn2: 1 of 2'

needs() { command -v "$1" >/dev/null || skip "$1 is not installed"; }

# write_toolkit COMMAND: a job file of two nodes whose single command is that.
write_toolkit() {
    jq -n --arg command "$1" '{properties: {nodeCount: 2, customToolkitSettings: {commandLine: $command},
        stdOutErrPathPrefix: "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/out", mountVolumes: {azureFileShares: [{
        azureFileUrl: "https://account.file.core.windows.net/myshare", relativeMountPath: "myshare"}]}}}' >job.json
    rm -rf "$share/out"
}

# toolkit COMMAND [SBATCH_OPTION]...: runs such a job; sets output.
toolkit() {
    write_toolkit "$1"
    write_script script 'exec batchai-launch'
    submit_alice -N2 -o out --batchai-job=job.json "${@:2}" script
    state=$(wait_job "$job")
    output=$(cat "$(stdouterr)"/std{out,err}.txt)
    echo "$1: $output"
    cat out
    [ "$state" = COMPLETED ]
}

# reaches_both_nodes LAUNCHER OPTION RANK: in a job's single command, with the option and without.
reaches_both_nodes() {
    needs "$1"
    for option in "" "$2"; do
        toolkit "$1 $option $3"
        [ "$(sort <<<"$output")" = "$both_nodes" ]
    done
}

@test "Open MPI's mpirun in a job's single command does not stay on one node, with the host file or without" {
    reaches_both_nodes mpirun.openmpi '--hostfile $AZ_BATCHAI_MPI_HOST_FILE' "$openmpi_rank"
}

@test "MPICH's mpiexec in a job's single command does not stay on one node, with a host list or without" {
    reaches_both_nodes mpiexec.mpich '-hosts $AZ_BATCH_HOST_LIST' "$hydra_rank"
}

@test "Intel MPI's mpiexec in a job's single command does not stay on one node" {
    [ -n "${I_MPI_ROOT-}" ] || skip "Intel MPI is not installed, or I_MPI_ROOT does not name it"
    toolkit "$I_MPI_ROOT/bin/mpiexec.hydra $hydra_rank"
    [ "$(sort <<<"$output")" = "$both_nodes" ]
}

@test "srun in a job's single command does not stay on one node" {
    toolkit "srun $slurm_rank"
    [ "$(sort <<<"$output")" = "$both_nodes" ]
}

@test "torchrun in a job's single command does not stay on one node" {
    needs torchrun
    tell_torch_of_libuv
    [ -z "${USE_LIBUV-}" ] || skip "the torchrun of a PyTorch without libuv has no rendezvous of nodes"
    # Without output options, torch 1.13 fails under Python 3.11. With them, a line begins with "[default0]:".
    toolkit 'srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=1 --rdzv_backend=c10d --rdzv_id=1 --rdzv_endpoint=$(hostname):29500 -r 1 -t 1 --no_python sh -c '\''echo "$(hostname) of $WORLD_SIZE"'\'
    [ "$(sed -n 's/^.*:\(n. of .\)$/\1/p' <<<"$output" | sort)" = $'n1 of 2\nn2 of 2' ]
}

# Horovod's init() in one process, and what it makes of it.
init='/usr/bin/python3 -c "from horovod.common import basics; basics.init(); print(basics.size())"'

@test "processes of torchrun in a job's single command are not a Horovod job each" {
    write_toolkit "TORCHELASTIC_RUN_ID=1 RANK=1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 $init"
    write_script script 'exec batchai-launch'
    submit_alice -N2 -o out --batchai-job=job.json script
    [ "$(wait_job "$job")" = FAILED ]
    grep -q 'torchrun made this process 1 of 2; without batchai-launch it is rank 0 of 1' "$(stdouterr)/stderr.txt"
}

@test "srun in a job's single command starts a Horovod job with PMIx, and says once that it does not without" {
    toolkit "srun --mpi=pmix $init"
    [ "$output" = $'2\n2' ]
    toolkit "srun --mpi=none $init"
    [ "$(grep -cx 1 <<<"$output")" = 2 ]
    [ "$(grep -c '^collectives: srun started 2 processes, and each of them is a job of its own' <<<"$output")" = 1 ]
}

@test "a job's single command does not take itself for a rank, and has the variables of the batch script" {
    probe='env | grep -E "^(SLURM_(N|TASKS|JOB_ID|JOB_NODELIST|STEP|PROCID|GPUS)|SRUN_|PMI|OMPI_COMM|RANK=|WORLD_SIZE=|HOROVOD_RANK|OMP_NUM|BATCHAI_COLL_PROG|HYDRA|OMPI_MCA_rmaps)" | sort'
    export OMPI_MCA_rmaps_base_oversubscribe=1 HYDRA_DEBUG=0 # the user's own for mpirun and mpiexec
    toolkit "$probe" -n 4
    write_script script "$probe"
    submit_alice -N2 -n4 -o expected script
    [ "$(wait_job "$job")" = COMPLETED ]
    without_id() { grep -v -e ^SLURM_JOB_ID=; }
    [ "$(without_id <<<"$output")" = "$(without_id <expected)" ]
    grep -q '^HYDRA_DEBUG=0$' <<<"$output"
    grep -q '^OMPI_MCA_rmaps_base_oversubscribe=1$' <<<"$output"
}

@test "the single command of an allocation of salloc does not see the step of the launcher for the job" {
    write_toolkit 'srun hostname; echo $SLURM_NNODES ${SLURM_STEP_ID-no step}'
    as_alice salloc -Q -N2 --batchai-job="$PWD/job.json" srun -Q -N1 -n1 --overlap batchai-launch
    [ "$(sort "$(stdouterr)/stdout.txt")" = $'2 no step\nn1\nn2' ]
}

@test "the single command of a job with --local does not lose the Slurm job around it" {
    write_toolkit 'echo $SLURM_JOB_ID'
    write_script script 'exec batchai-launch --local 2 --job job.json'
    BATCHAI_POLICY=$MINISLURM_DIR/batchai.toml submit_alice -N1 -o out script
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat "$(stdouterr)/stdout.txt")" = "$job" ]
}

@test "a GPU job's single command and its child processes keep all GPUs of the job" {
    toolkit "srun sh -c 'echo \$(hostname) \$SLURM_GPUS_ON_NODE'; echo all \$SLURM_GPUS_ON_NODE" --gpus=2
    [ "$(sort <<<"$output")" = $'all 1\nn1 1\nn2 1' ]
}

@test "mpirun and mpiexec started by a rank on its own do not stay on one node" {
    needs mpirun.openmpi
    needs mpiexec.mpich
    write_script script "batchai-launch -n 1 mpirun.openmpi $openmpi_rank" "batchai-launch -n 1 mpiexec.mpich $hydra_rank"
    submit_alice -N2 -o out script
    [ "$(wait_job "$job")" = COMPLETED ]
    # srun may say that it waits for the nodes.
    [ "$(grep -v '^srun: ' out | sort)" = "$(printf '%s\n%s' "$both_nodes" "$both_nodes" | sort)" ]
}

@test "a rank on its own is still the only one of its step" {
    write_script script 'batchai-launch -n 1 sh -c "echo \$RANK of \$WORLD_SIZE, \$SLURM_PROCID of \$SLURM_NTASKS on \$SLURM_STEP_NODELIST, \${PMIX_RANK-none}"'
    submit_alice -N2 -n4 -o out script
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat out)" = "0 of 1, 0 of 1 on n1, 0" ]
}

@test "srun started by one of several ranks does not hang or lose its node" {
    write_script script 'batchai-launch -n 2 ./rank'
    write_script rank '[ "$RANK" = 1 ] || exec srun sh -c '\''echo "$(hostname): $SLURM_PROCID of $SLURM_NTASKS"'\'
    submit_alice -N2 -o out script
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(sort out)" = "$both_nodes" ]
}

# Both launches have more ranks than cores; the inner one of the second round has not.
@test "a launch in a rank does not take variables of the outer launch for the user's" {
    write_script inner 'exec env --unset=RANK taskset -c 0,1 batchai-launch --local 1 -n "$1" ./variables'
    write_script variables 'echo "${OMPI_MCA_mpi_oversubscribe-} ${I_MPI_WAIT_MODE-} ${OMP_NUM_THREADS-} ${MPIR_CVAR_PMI_VERSION-}"'
    run -0 timeout -k 2 60 taskset -c 0 batchai-launch --local 1 -n 2 -- sh -c './variables; [ "$RANK" = 1 ] || ./inner 1'
    [ "$(sort <<<"$output")" = $'  2 1\n1 1 1 1\n1 1 1 1' ]
    run -0 env OMP_NUM_THREADS=5 MPIR_CVAR_PMI_VERSION=x timeout -k 2 60 batchai-launch --local 1 -n 1 -- sh -c './inner 1; OMP_NUM_THREADS=7 ./inner 1'
    [ "$output" = $'  5 x\n  7 x' ]
}

@test "what a user's own mpirun or srun starts lacks no variable of the service, on any node" {
    local rank='sh -c '\''echo "$(hostname) $AZ_BATCHAI_JOB_TEMP $AZ_BATCHAI_NUM_GPUS $AZ_BATCHAI_MOUNT_ROOT"'\'
    for launcher in mpirun.openmpi srun; do
        command -v "$launcher" >/dev/null || continue
        toolkit "$launcher $rank"
        for node in n1 n2; do [ "$(grep -cx "$node /run/batchai/mnt/.temp 0 /run/batchai/mnt" <<<"$output")" = 1 ]; done
    done
}
