#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job's container with Apptainer, without set-user-ID: preparation, ranks, mounts, PMIx, shared memory.
# minislurm: -n 2 -g 1 -s KillWait=30
# plugin: policy=/run/minislurm/batchai.toml
# needs: apptainer
#
# shellcheck disable=SC2154 # share is set by plugin.bash, job by submit_alice, image, state and files by containers.bash

load containers
export BATS_TEST_TIMEOUT=300
deadline=100 # a container takes seconds to start and to end on a busy machine

setup_file() {
    make_site
    make_image
    apptainer=(/usr/bin/apptainer "--silent" exec "--pwd={directory}" "--bind={job_temp},{mount_root},$MINISLURM_DIR")
    libraries=("--bind=/usr,/etc,$BATCHAI_BUILD" "--env=UCX_POSIX_USE_PROC_LINK=n"
        "--env=OMPI_MCA_btl_vader_single_copy_mechanism=none")
    {
        container apptainer "${apptainer[@]}" "{image}"
        container with_libraries "${apptainer[@]}" "${libraries[@]}" "{image}"
        printf '[[image]]\nname = "%s"\nrun_on = "%s"\nimage = "%s"\n' busybox apptainer "$image" mpi with_libraries "$image"
    } >>"$BATCHAI_POLICY"
    make_facts
}

@test "preparation and ranks run in its container, as the user, with the node's paths and variables" { check_facts; }

@test "no container is lost where the first ones of a node start at once" { check_first_containers; }

@test "exit codes pass, of a command on the first node and of a preparation" { check_exit_codes; }

@test "PMIx, and memory of a node, between ranks in containers of their own: Open MPI" { check_shared_memory 2 openmpi_check 4 2; }

@test "PMI-1, and memory of a node, between ranks in containers of their own: MPICH" { check_shared_memory 1 mpich_check 2 2; }

@test "PMIx, and memory of a node, between ranks in containers of their own: batchai's library" {
    check_shared_memory 2 collectives_check matrix
}

@test "scancel ends what runs in its containers, preparation and ranks" { check_scancel; }
