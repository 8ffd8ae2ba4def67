#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Images of root's, which the kernel mounts.
# minislurm: -n 2
# needs: root loop
# plugin: policy=/run/minislurm/batchai.toml

load plugin

images=$MINISLURM_DIR/images

setup_file() {
    make_site
    cat >>"$MINISLURM_DIR/batchai.toml" <<TOML
[[share]]
share = "image"
type = "squashfs"
source = "$images/site.sqsh"
[[allow]]
type = "squashfs"
source = "$images"
TOML
    mkdir -p "$images"
    mksquashfs "$data" "$images/site.sqsh" -quiet -no-progress >/dev/null
}

setup() { enter_work; }

@test "an image is mounted read-only in every task, and its loop device is free after the job" {
    write_script job.sh 'cat /run/batchai/mnt/i/file' 'srun cat /run/batchai/mnt/i/file' 'touch /run/batchai/mnt/i/x'
    submit_alice -N 2 -o out --batchai-mount="squashfs=$images/site.sqsh:i" job.sh
    [ "$(wait_job "$job")" = FAILED ] # by touch
    [ "$(grep -c '^data$' out)" = 3 ]
    grep -q "Read-only file system" out
    eventually no_loop_device
}

no_loop_device() { ! losetup --list --noheadings -O BACK-FILE | grep -q "$images"; }

@test "a job file's share may be an image" {
    write_job job.json 1
    jq '.properties.mountVolumes.azureFileShares += [{azureFileUrl: "https://a.b/image", relativeMountPath: "image"}]' job.json >image.json
    submit_alice -N 1 -o out --batchai-job=image.json --wrap 'cat $AZ_BATCHAI_JOB_MOUNT_ROOT/image/file'
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat out)" = data ]
}

@test "the kernel mounts no image that a user could have written" {
    cp "$images/site.sqsh" "$images/alices.sqsh"
    chown alice "$images/alices.sqsh"
    cp "$images/site.sqsh" "$images/open.sqsh"
    chmod 666 "$images/open.sqsh"
    for image in alices open; do
        run -1 as_alice srun -Q -N 1 -w n1 --batchai-mount="squashfs=$images/$image.sqsh:i" true
        [[ $output == *"batchai: n1: mounting $images/$image.sqsh at i: the image must be a file of root that only root can write to: copy it with install -o root -m 644"* ]]
    done
    rm "$images/alices.sqsh" "$images/open.sqsh"
}

@test "an image that a process has open for writing is refused, though it is root's by now" {
    cp "$images/site.sqsh" "$images/kept.sqsh"
    exec 8<>"$images/kept.sqsh" # as its user had it before chown
    run as_alice srun -Q -N 1 -w n1 --batchai-mount="squashfs=$images/kept.sqsh:i" true
    exec 8>&-
    [ "$status" = 1 ]
    [[ $output == *"kept.sqsh at i: a process has the image open for writing: copy it with install -o root -m 644"* ]]
    run -0 as_alice srun -Q -N 1 -w n1 --batchai-mount="squashfs=$images/kept.sqsh:i" true
    rm "$images/kept.sqsh"
}

@test "an image that is only in a mount namespace of the user's own is refused" {
    cp "$images/site.sqsh" "$MINISLURM_DIR/other.sqsh"
    on_node n1 setpriv --reuid alice --regid alice --init-groups unshare --user --map-root-user --mount \
        sh -c 'mount --bind "$0" "$1" && echo $$ >"$2/pid" && exec sleep 100' "$MINISLURM_DIR/other.sqsh" "$images/site.sqsh" "$work" &
    eventually test -s pid
    ln -sf "/proc/$(cat pid)/root$images/site.sqsh" "$images/link"
    run as_alice srun -Q -N 1 -w n1 --batchai-mount="squashfs=$images/link:i" true
    on_node n1 kill "$(cat pid)"
    rm "$images/link"
    [ "$status" = 1 ]
    [[ $output == *"batchai: n1: i: the source is not on a mount of this node"* ]]
}

@test "an image that the user cannot read, or that is none, is refused" {
    chmod 600 "$images/site.sqsh"
    run as_alice srun -Q -N 1 -w n1 --batchai-mount="squashfs=$images/site.sqsh:i" true
    chmod 644 "$images/site.sqsh"
    [ "$status" = 1 ]
    [[ $output == *"batchai: n1: mounting $images/site.sqsh at i: the user cannot read the image: Permission denied"* ]]
    head -c 100000 /dev/zero >"$images/zero.sqsh"
    run as_alice srun -Q -N 1 -w n1 --batchai-mount="squashfs=$images/zero.sqsh:i" true
    rm "$images/zero.sqsh"
    [ "$status" = 1 ]
    [[ $output == *"batchai: n1: mounting $images/zero.sqsh at i: squashfs: Invalid argument"*"SQUASHFS superblock"* ]]
    eventually no_loop_device
}
