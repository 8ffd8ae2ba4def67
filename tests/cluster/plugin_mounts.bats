#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Mounts of a job: the processes that see them, and the sources that are refused.
# minislurm: -n 2
# plugin: policy=/run/minislurm/batchai.toml

load plugin

setup() { enter_work; }

root='$AZ_BATCHAI_JOB_MOUNT_ROOT'

@test "mounts are seen in the batch script, in its steps and in an overlapping step" {
    write_script job.sh "cat $root/a/file" "srun cat $root/a/file" "srun --overlap cat $root/a/file"
    submit_alice -N 2 -o out --batchai-mount="$data:a:ro" job.sh
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(grep -c '^data$' out)" = 5 ]
}

@test "mounts are seen in a step attached from outside of the job" {
    write_script job.sh 'touch started' 'while [ ! -e done ]; do sleep 0.1; done'
    submit_alice -N 1 -o out --batchai-mount="$data:a:ro" job.sh
    eventually test -e started
    run as_alice srun --jobid "$job" --overlap sh -c "cat $root/a/file"
    touch done
    [ "$output" = data ]
    [ "$(wait_job "$job")" = COMPLETED ]
}

@test "all tasks of a job on a node are in one mount namespace" {
    run -0 as_alice srun -N 2 --ntasks-per-node=8 --batchai-mount="$data:a:ro" sh -c 'echo "$SLURMD_NODENAME $(readlink /proc/self/ns/mnt)"'
    [ "$(sort -u <<<"$output" | wc -l)" = 2 ]
}

@test "mounts are not seen on the node outside of the job, nor in another job" {
    write_script job.sh 'touch started' 'while [ ! -e done ]; do sleep 0.1; done'
    submit_alice -N 1 -w n1 -o out --batchai-mount="$data:a:ro" job.sh
    eventually test -e started
    run on_node n1 sh -c 'cat /proc/self/mounts; ls -A /run/batchai/mnt'
    [[ $output != *"$data"* && $output != */run/batchai/mnt* ]]
    run as_alice srun -w n1 --batchai-mount="$open:b" sh -c "ls $root"
    [ "$output" = b ]
    touch done
    [ "$(wait_job "$job")" = COMPLETED ]
}

@test "a read-only mount is read-only, whatever the user asked for" {
    run as_alice srun --batchai-mount="$data:a:ro,$open:b,$open:c:ro" sh -c "touch $root/a/x; touch $root/b/x && echo written; touch $root/c/x"
    [[ $output == *"/a/x': Read-only file system"* ]]
    [[ $output == *written* ]]
    [[ $output == *"/c/x': Read-only file system"* ]]
    [ -e "$open/x" ]
}

@test "every mount is nosuid and nodev" {
    run as_alice srun --batchai-mount="$data:a:ro,$open:b,tmpfs:t,overlay=$data:o" sh -c 'grep /run/batchai/mnt /proc/self/mounts'
    [ "$(grep -c nosuid,nodev <<<"$output")" = "$(wc -l <<<"$output")" ]
    [ "$(wc -l <<<"$output")" -ge 5 ]
}

@test "noexec forbids to run programs" {
    cp /bin/true "$open/program"
    run as_alice srun --batchai-mount="$open:a:noexec" sh -c "$root/a/program"
    [[ $output == *"Permission denied"* ]]
    run as_alice srun --batchai-mount="$open:a" sh -c "$root/a/program && echo ran"
    [ "$output" = ran ]
}

@test "a tmpfs is the user's, of the size that was asked for, and gone with the job" {
    run as_alice srun --batchai-mount=tmpfs:t:size=1M sh -c "exec 2>&1; cd $root/t && dd if=/dev/zero of=x bs=1k count=2000; stat -c %u ."
    [[ $output == *"No space left"* ]]
    [ "$(tail -n 1 <<<"$output")" = "$(as_alice id -u)" ]
}

@test "an overlay can be written to and leaves its lower directory as it was" {
    chmod 777 "$data"
    run as_alice srun --batchai-mount="overlay=$data:o" sh -c "cd $root/o && echo changed >new && cat file new"
    chmod 755 "$data"
    [ "$output" = $'data\nchanged' ]
    [ ! -e "$data/new" ]
}

@test "an overlay shows nothing to a user whom an access list of the source refuses" {
    need_root
    mkdir -p "$data/listed/below" "$data/closed"
    echo private | tee "$data/listed/file" "$data/listed/below/file" "$data/closed/file"
    setfacl -m u:bob:--- -d -m u:bob:--- "$data/listed"
    setfacl -m u:bob:--- "$data/closed"
    for source in listed closed; do
        run as_user bob srun -Q --batchai-mount="overlay=$data/$source:o" sh -c "ls $root/o; cat $root/o/file"
        [[ $output == *"Permission denied"* && $output != *private* && $output != *file$'\n'* ]]
    done
    setfacl -b "$data/listed" && setfacl -m u:bob:--- "$data/listed/below"
    run as_user bob srun -Q --batchai-mount="overlay=$data/listed:o" sh -c "exec 2>&1; cat $root/o/file $root/o/below/file; true"
    [[ $output == private$'\n'*"Permission denied"* && $output != *private*private* ]]
    # Another user finds what the source has, and so does what is written.
    setfacl -d -m u:bob:r-- "$data/listed"
    run as_alice srun -Q --batchai-mount="overlay=$data/listed:o" sh -c "cat $root/o/below/file; getfacl -cp $root/o"
    [ "$output" = "private"$'\n'"$(getfacl -cp "$data/listed")" ]
    rm -r "$data/listed" "$data/closed"
}

@test "the user cannot write beside the mounts" {
    run as_alice srun --batchai-mount="$open:a" sh -c "touch $root/x"
    [[ $output == *"Read-only file system"* ]]
}

@test "a job file's share is mounted, also with --export=NONE" {
    write_job job.json 2
    write_script job.sh '/bin/ls /run/batchai/mnt/myshare/code' 'srun /bin/ls /run/batchai/mnt/myshare/code'
    submit_alice -N 2 --export=NONE -o out --batchai-job=job.json job.sh
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(grep -c train.py out)" = 3 ]
}

@test "a task has the service's environment" {
    write_job job.json 1
    write_script job.sh 'env'
    submit_alice -N 1 -o out --batchai-job=job.json job.sh
    [ "$(wait_job "$job")" = COMPLETED ]
    grep -qx AZ_BATCHAI_JOB_MOUNT_ROOT=/run/batchai/mnt out
    grep -qx AZ_BATCHAI_JOB_TEMP=/run/batchai/mnt/.temp out
    grep -qx BATCHAI_NODE_READY="$job" out
    grep -qx BATCHAI_JOB_FILE="$(record)/job.json" out
    grep -qx BATCHAI_POLICY="$MINISLURM_DIR/batchai.toml" out
    [ "$(cat "$(record)/slurm_job_id")" = "$job" ]
}

@test "the job's temporary directory is the user's and gone after the job" {
    run as_alice srun --batchai-prep=true sh -c 'cd $AZ_BATCHAI_JOB_TEMP && mkdir -p d/e && touch d/e/f && ln -s /run/minislurm/data d/link && chmod 0 d/e && stat -c "%a %u" .'
    [ "$output" = "700 $(as_alice id -u)" ]
    assert_clean
    [ -e "$data/file" ]
}

@test "the job's temporary directory is gone after the job whatever was left in it" {
    as_alice srun --batchai-prep=true sh -c 'cd $AZ_BATCHAI_JOB_TEMP && mkdir -p r/o/d && touch r/o/f && chmod 555 r/o r && mkdir -m 0 none &&
        ln -s /run/minislurm/data link && python3 -c "import os
for i in range(3000): os.mkdir(\"deep\"); os.chdir(\"deep\")
open(\"file\", \"w\")"'
    assert_clean
    [ -e "$data/file" ]
}

@test "the temporary directory has one path on all nodes, is each node's own, and takes no mount of the job" {
    write_script job.sh 'srun sh -c "hostname >\$AZ_BATCHAI_JOB_TEMP/node"' 'srun -Q sh -c "echo \$AZ_BATCHAI_JOB_TEMP \$(cat \$AZ_BATCHAI_JOB_TEMP/node)"' \
        'ls -d /tmp/batchai-$SLURM_JOB_ID-*'
    submit_alice -N 2 -o out --batchai-mount="$open:a" job.sh
    [ "$(wait_job "$job")" = COMPLETED ]
    diff <(printf '/run/batchai/mnt/.temp %s\n' n1 n2) <(head -n 2 out | sort)
    [[ $(tail -n 1 out) =~ ^/tmp/batchai-$job-[0-9a-f]{16}$ ]]
    for target in .temp .temp/a; do
        run ! as_alice srun -Q --batchai-mount="$open:$target" true
        [[ $output = *"target '$target' is the job's temporary directory: choose another name"* ]]
    done
}

@test "a mount cannot take the place of what FUSE programs find at the mount root" {
    mkdir -p "$share/out"
    write_job job.json 1
    sed 's/"relativeMountPath": "myshare"/"relativeMountPath": ".batchai"/' job.json >reserved.json
    for target in .batchai .batchai/home; do
        said="'$target' is the directory of FUSE programs: choose another name"
        run ! as_alice srun -Q --batchai-mount="$open:$target" true
        [[ $output = *"target $said"* ]]
        run ! forged "$open:$target" # past the checker of the login node
        [[ $output = *"batchai: n1: "*"target $said"* && $output != *ran* ]]
    done
    BATCHAI_POLICY=$MINISLURM_DIR/batchai.toml run ! as_alice batchai job check reserved.json
    [[ $output = *"relativeMountPath: '.batchai' is the directory of FUSE programs: choose another name"* ]]
}

@test "a user cannot take the temporary directory of another's next job" {
    need_root
    run_as_bob() { on_node n1 setpriv --reuid bob --regid bob --init-groups "$@"; }
    as_alice srun -w n1 true
    next=$(($(scontrol show config | awk '$1 == "NEXT_JOB_ID" { print $3 }')))
    run_as_bob mkdir "/tmp/batchai-$next"
    run as_alice srun -Q -w n1 --batchai-mount="$open:a" sh -c 'echo $SLURM_JOB_ID; stat -c %U $AZ_BATCHAI_JOB_TEMP'
    run_as_bob rmdir "/tmp/batchai-$next"
    [ "$output" = "$next"$'\nalice' ]
}

# What a user can forge is the environment; it is checked on the node again.
forged() {
    as_alice salloc -Q -N 1 env "SLURM_SPANK_BATCHAI_MOUNT=$1" srun sh -c 'echo ran' 2>&1
}

@test "a mount outside of the allowlist is refused on the node too" {
    run ! forged "$secret:x"
    [[ $output == *"batchai: n1: "*"$secret"* && $output != *ran* ]]
}

@test "a mount target with .. is refused on the node too" {
    run ! forged "$open:../x"
    [[ $output == *"batchai: n1: "*..* && $output != *ran* ]]
}

@test "a symbolic link out of the allowlist is not followed" {
    ln -s "$secret" "$open/link"
    run as_alice srun --batchai-mount="$open/link:x" sh -c 'echo ran'
    rm "$open/link"
    [ "$status" != 0 ]
    [[ $output == *"batchai: n1: "*"$secret"*"not allowed"* && $output != *ran* ]]
}

@test "a symbolic link in a mount target is refused" {
    ln -s /etc "$open/link"
    run as_alice srun --batchai-mount="$open:a,$data:a/link:ro" sh -c 'echo ran'
    rm "$open/link"
    [ "$status" != 0 ]
    [[ $output == *"batchai: n1: a/link: target: lies inside another mount of the job"* && $output != *ran* ]]
}

@test "a directory that the user cannot reach is not mounted" {
    need_root
    mkdir -p "$open/closed/dir"
    chmod 700 "$open/closed"
    run ! as_alice srun --batchai-mount="$open/closed/dir:x" sh -c 'echo ran'
    [[ $output == *"batchai: n1: mount source: "*"Permission denied"* && $output != *ran* ]]
}

@test "a policy that others can write to is refused" { # more of it: plugin_trust.bats
    chmod 666 "$MINISLURM_DIR/batchai.toml"
    run as_alice srun --batchai-mount="$open:x" sh -c 'echo ran'
    chmod 644 "$MINISLURM_DIR/batchai.toml"
    [ "$status" != 0 ]
    [[ $output =~ "batchai: n1: site policy".*"others can write to" && $output != *ran* ]]
}

# refused_mount_root DIRECTORY WRONG: a policy with that mount root mounts nothing and says what is wrong.
refused_mount_root() {
    printf '[paths]\nmount_root = "%s"\n' "$1" >>"$MINISLURM_DIR/batchai.toml"
    run as_alice srun -N 1 -w n1 --batchai-mount="$open:x" sh -c 'echo ran'
    make_site
    [ "$status" != 0 ]
    [[ $output == *"batchai: n1: site policy: paths.mount_root: $2"* ]]
    [[ $output != *ran* ]]
}

@test "a mount root that a user could exchange is refused" {
    need_root
    refused_mount_root "$open/mnt" "$open: others can write to it"
    refused_mount_root /tmp/mnt/deep "/tmp: others can write to it"
    mkdir "$MINISLURM_DIR/alices"
    chown alice "$MINISLURM_DIR/alices"
    refused_mount_root "$MINISLURM_DIR/alices/mnt" "$MINISLURM_DIR/alices: belongs to another user than root"
    rmdir "$MINISLURM_DIR/alices"
    ln -s /etc "$MINISLURM_DIR/link"
    refused_mount_root "$MINISLURM_DIR/link" "$MINISLURM_DIR/link: is a symbolic link: name the directory itself"
    rm "$MINISLURM_DIR/link"
    run on_node n1 ls -d /etc/mnt /tmp/mnt "$open/mnt"
    [ "$(grep -c 'No such file' <<<"$output")" = 3 ]
}

@test "a mount root of the site's choice is made and used" {
    printf '[paths]\nmount_root = "/run/mnt/batchai"\n' >>"$MINISLURM_DIR/batchai.toml"
    run as_alice srun -Q --batchai-mount="$open:b" sh -c "echo $root; ls $root"
    make_site
    [ "$output" = $'/run/mnt/batchai\nb' ]
}
