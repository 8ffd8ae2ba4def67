#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Like plugin_kills.bats, for a job with a FUSE mount.
# minislurm: -n 1
# needs: root ptrace fuse
# plugin: policy=/run/minislurm/batchai.toml

load kills

mounts="$data:a:ro,squashfuse=$open/data.sqsh:f"

setup_file() {
    make_site
    allow_squashfuse
    as_alice mksquashfs "$share/code" "$open/data.sqsh" -quiet -no-progress >/dev/null
    make_libexec
    as_alice srun -Q --batchai-mount="$mounts" true
}

@test "a set-up with a FUSE program that is killed at any place fails the job and leaves nothing" {
    kill_at_each 'batchai-helper setup' failed
}

@test "a teardown with a FUSE program that is killed at any place is finished by the next sweep" {
    kill_at_each 'batchai-helper teardown' ran_and_is_swept
}
