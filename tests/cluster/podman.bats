#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job's container with rootless Podman: preparation, ranks, mounts, PMIx, shared memory.
# minislurm: -n 2 -g 1 -s KillWait=30
# plugin: policy=/run/minislurm/batchai.toml
# needs: root podman
#
# shellcheck disable=SC2154 # share is set by plugin.bash, job by submit_alice, image, state and files by containers.bash

load containers
export BATS_TEST_TIMEOUT=300
deadline=100 # a container takes seconds to start and to end on a busy machine

# What batchai.toml(5) says about Podman.
setup_file() {
    local node
    make_site
    make_image
    touch "$image"/etc/{hostname,resolv.conf} "$image/run/.containerenv"
    ln -s /proc/mounts "$image/etc/mtab"
    printf '%s\n' '[engine]' 'lock_type = "file"' 'events_logger = "none"' 'cgroup_manager = "cgroupfs"' 'runtime = "runc"' \
        >"$MINISLURM_DIR/podman.conf"
    echo 'alice:100000:65536' >"$MINISLURM_DIR/subids"
    for node in $(nodes); do
        on_node "$node" mount --bind "$MINISLURM_DIR/subids" /etc/subuid
        on_node "$node" mount --bind "$MINISLURM_DIR/subids" /etc/subgid
    done
    remember_nodes
    podman=("CONTAINERS_CONF=$MINISLURM_DIR/podman.conf" "XDG_RUNTIME_DIR={mount_root}/.temp"
        "PODMAN_IGNORE_CGROUPSV1_WARNING=yes" /usr/bin/podman "--log-level=fatal" "--runtime-flag=log=/dev/null" "--root={mount_root}/.temp/podman/root"
        "--runroot={mount_root}/.temp/podman/run" "--tmpdir={mount_root}/.temp/podman/tmp" run "--rm" "--log-driver=none"
        "--userns=keep-id" "--passwd=false" "--network=host" "--pid=host" "--ipc=none" "--ulimit=host" "--env-host"
        "--workdir={directory}" "--volume=/dev/shm:/dev/shm" "--volume={job_temp}:{job_temp}" "--volume={mount_root}:{mount_root}"
        "--volume=$MINISLURM_DIR:$MINISLURM_DIR")
    libraries=("--volume=/usr:/usr" "--volume=/etc:/etc" "--volume=$BATCHAI_BUILD:$BATCHAI_BUILD"
        "--env=UCX_POSIX_USE_PROC_LINK=n" "--env=OMPI_MCA_btl_vader_single_copy_mechanism=none")
    # MPICH's connection is a descriptor that the rank inherits. Podman passes on only the first ones.
    # shellcheck disable=SC2016 # expanded on the node
    first='[ "$PMI_FD" = 3 ] || exec 3</dev/null; [ -z "$PMI_FD" ] || { exec 3<&"$PMI_FD"; export PMI_FD=3; }; exec "$@"'
    {
        container podman /usr/bin/env "${podman[@]}" "--rootfs" "{image}"
        container with_libraries /bin/bash -c "$first" bash /usr/bin/env "${podman[@]}" "--preserve-fds=1" "${libraries[@]}" \
            "--rootfs" "{image}"
        printf '[[image]]\nname = "%s"\nrun_on = "%s"\nimage = "%s"\n' busybox podman "$image" mpi with_libraries "$image"
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

@test "the end of a job removes files of the user's subordinate ids" {
    container_job busybox 1 customToolkit true
    # shellcheck disable=SC2016 # expanded by the job
    script='cd "$AZ_BATCHAI_JOB_TEMP"; mkdir layer
unshare --user --map-root-user --map-auto sh -c "mkdir layer/usr; touch layer/usr/env; chown -R 7:7 layer; chmod 500 layer"
stat -c %u:%a layer'
    run_job
    [ "$(cat out)" = 100006:500 ]
}

@test "scancel ends what runs in its containers, preparation and ranks" { check_scancel; }
