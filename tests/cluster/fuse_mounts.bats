#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# FUSE mounts: sshfs, rclone, squashfuse and s3fs, against real servers.
# minislurm: -n 2
# needs: fuse clients smb
# plugin: policy=/run/minislurm/batchai.toml

load fuse

setup_file() {
    make_images
    make_fuse_site
    [ "$(id -u)" != 0 ] || start_servers
}

setup() {
    enter_work
    [[ $BATS_TEST_DESCRIPTION != *squashfuse ]] || return 0
    need_root
    rm -rf "${served:?}"/* "$MINISLURM_DIR"/bucket/*
    mkdir -m 777 "$served/below"
}

# write_and_read NAME: a job of two nodes on that volume.
write_and_read() {
    write_script job.sh 'cd $AZ_BATCHAI_JOB_MOUNT_ROOT/data' 'echo "from $SLURMD_NODENAME" >script' 'cat script' \
        'srun -Q sh -c "echo step >step.\$SLURMD_NODENAME; cat step.\$SLURMD_NODENAME" 2>$SLURM_SUBMIT_DIR/errors' \
        'cat script step.n1' \
        'mkdir sub && mv script sub/moved && ls sub && rm step.n1'
    submit_alice -N 2 -o out --batchai-mount="volume=$1:data" job.sh
    state=$(wait_job "$job")
    cat out
    [ "$state" = COMPLETED ]
    [ "$(cat out)" = $'from n1\nstep\nstep\nfrom n1\nstep\nmoved' ]
}

# served_by_now DIRECTORY: what write_and_read leaves is there.
served_by_now() {
    [ "$(cat "$1/sub/moved")" = "from n1" ]
    [ ! -e "$1/step.n1" ]
    [ "$(cat "$1/step.n2")" = step ]
    [ "$(stat -c %U "$1/step.n2")" = alice ]
}

@test "the batch script and all steps write and read a directory behind sshfs" {
    write_and_read sshfs
    served_by_now "$served"
}

@test "the batch script and all steps write and read an SMB share behind rclone" {
    write_and_read rclone_smb
    served_by_now "$served/below"
}

@test "the batch script and all steps write and read an SFTP directory behind rclone" {
    write_and_read rclone_sftp
    served_by_now "$served"
}

@test "the batch script and all steps write and read a bucket behind s3fs" {
    write_and_read s3fs
    [ "$(cat "$MINISLURM_DIR/bucket/sub%2Fmoved")" = "from n1" ]
}

@test "a job reads an image of the user's behind squashfuse" {
    submit_alice -N 2 -o out --batchai-mount="squashfuse=$images/data.sqsh:data" \
        --wrap 'srun -Q cat $AZ_BATCHAI_JOB_MOUNT_ROOT/data/file; touch $AZ_BATCHAI_JOB_MOUNT_ROOT/data/new'
    [ "$(wait_job "$job")" = FAILED ]
    grep -q "cannot touch '/run/batchai/mnt/data/new'" out
    [ "$(grep -c squashed out)" = 2 ]
}

@test "a mount outlives the step that has made it" {
    cat >steps.sh <<'SH'
srun -N 1 sh -c 'echo first >$AZ_BATCHAI_JOB_MOUNT_ROOT/data/file'
sleep 1
srun -N 1 sh -c 'cat $AZ_BATCHAI_JOB_MOUNT_ROOT/data/file; pgrep -c -x sshfs'
SH
    run as_alice salloc -Q -N 1 --batchai-mount="volume=sshfs:data" bash steps.sh
    echo "$output"
    [ "$output" = $'first\n1' ]
}

@test "the program runs as the user, without privileges, in none of the job's namespaces" {
    write_script job.sh 'readlink /proc/self/ns/mnt >namespace' 'touch started' 'sleep 1000'
    submit_alice -N 1 -o out --batchai-mount="volume=sshfs:data,tmpfs:t" job.sh
    eventually test -e started
    pid=$(daemons)
    cat "/proc/$pid/status"
    [ "$(awk '/^Uid:/ { print $2, $3, $4, $5 }' "/proc/$pid/status")" = "2001 2001 2001 2001" ]
    own=$((2143289344 + $(awk '/^NSpid:/ { print $3 }' "/proc/$pid/status")))
    [ "$(awk '/^Gid:/ { print $2, $3, $4, $5 }' "/proc/$pid/status")" = "$own $own $own $own" ]
    [[ " $(grep '^Groups:' "/proc/$pid/status") " == *[[:space:]]2001[[:space:]]* ]]
    [ "$(grep -cE '^Cap(Inh|Prm|Eff|Bnd|Amb):.0+$' "/proc/$pid/status")" = 5 ]
    grep -q '^NoNewPrivs:.1$' "/proc/$pid/status"
    grep -q '^Max core file size *1 *1 ' "/proc/$pid/limits"
    [ "$(readlink "/proc/$pid/ns/mnt")" != "$(cat namespace)" ]
    ! grep 'tmpfs.*/run/batchai/mnt/t ' "/proc/$pid/mountinfo" || false
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
}

@test "the job has its mount without set-user-ID programs and devices" {
    submit_alice -N 1 -o out --batchai-mount="volume=sshfs:data:ro" \
        --wrap 'grep /run/batchai/mnt/data /proc/self/mountinfo; touch $AZ_BATCHAI_JOB_MOUNT_ROOT/data/file'
    [ "$(wait_job "$job")" = FAILED ]
    cat out
    grep -q ' ro,nosuid,nodev,relatime .* fuse.sshfs alice@' out
    grep -q 'Read-only file system' out
}

@test "wrong credentials, a broken image or a program that is not there fail the job with one line" {
    while read -r mount why; do
        echo "$mount"
        submit_alice -N 1 -o out --batchai-mount="$mount:data" --wrap 'touch started'
        [ "$(wait_job "$job")" = FAILED ]
        line=$(one_line out)
        echo "$line"
        [[ ${line,,} == "batchai: n1: mounting fuse "*" at data: "*"${why,,}"* ]] # releases of s3fs differ in case
        [ ! -e started ]
        rm out
        assert_clean
    done <<MOUNTS
volume=sshfs_wrong Permission denied
volume=rclone_wrong logon is invalid
volume=s3fs_wrong invalid credentials
volume=true the program printed no error message
volume=nothing /no/such/program: No such file or directory
squashfuse=$images/broken.sqsh squashfs image
MOUNTS
}

@test "the requests of older and newer libfuse to unmount are answered with success" {
    for options in '-u -q -z' '--unmount --quiet --lazy' --auto-unmount; do
        # shellcheck disable=SC2086 # several words
        run env -u _FUSE_COMMFD "$BATCHAI_BUILD/bin/batchai-fusermount" $options -- /nowhere
        [ "$status$output" = 0 ]
    done
    run "$BATCHAI_BUILD/bin/batchai-fusermount" --comm-fd 200 -- /nowhere
    [[ $status = 1 && $output = "batchai-fusermount: only a FUSE program that batchai-helper started can call this: Bad file descriptor" ]]
}

@test "the user's own key is used, if only the user can read it" {
    own=$(alice_home)/.config/batchai/credentials
    as_alice mkdir -p "$own"
    install -m 644 -o alice "$MINISLURM_DIR/sshd/user" "$own/key"
    submit_alice -N 1 -o out --batchai-mount="volume=sshfs_own:data" --wrap 'echo own >$AZ_BATCHAI_JOB_MOUNT_ROOT/data/file'
    [ "$(wait_job "$job")" = FAILED ]
    [[ $(one_line out) == *"credentials user:key: must be a file of user 2001 that only this user can read (chmod 600)" ]]
    chmod 600 "$own/key"
    submit_alice -N 1 -o out --batchai-mount="volume=sshfs_own:data" --wrap 'echo own >$AZ_BATCHAI_JOB_MOUNT_ROOT/data/file'
    state=$(wait_job "$job")
    rm -r "$(alice_home)/.config"
    [ "$state" = COMPLETED ]
    [ "$(cat "$served/file")" = own ]
}

@test "data written right before the job's end arrives at the server" {
    for mount in sshfs rclone_smb rclone_sftp s3fs; do
        submit_alice -N 1 -o out --batchai-mount="volume=$mount:data" \
            --wrap 'exec head -c 6000000 /dev/zero >$AZ_BATCHAI_JOB_MOUNT_ROOT/data/last'
        [ "$(wait_job "$job")" = COMPLETED ]
        assert_clean
        [ "$(find "$served" "$MINISLURM_DIR/bucket" -name last -size 6000000c | wc -l)" = 1 ]
        rm -f "$served/last" "$served/below/last" "$MINISLURM_DIR/bucket/last"
    done
}

no_daemons() { [ -z "$(daemons)" ]; }

@test "a job whose program dies sees that the mount is not connected" {
    for mount in sshfs rclone_sftp s3fs; do
        write_script job.sh 'cd $AZ_BATCHAI_JOB_MOUNT_ROOT' 'touch $SLURM_SUBMIT_DIR/started' \
            'while [ ! -e $SLURM_SUBMIT_DIR/go ]; do sleep 0.1; done' 'ls data; srun -Q ls data; true'
        submit_alice -N 1 -o out --batchai-mount="volume=$mount:data" job.sh
        eventually test -e started
        # shellcheck disable=SC2046
        kill -9 $(daemons)
        eventually no_daemons # a request on its way meanwhile is aborted
        : >go
        [ "$(wait_job "$job")" = COMPLETED ]
        cat out
        [ "$(grep -c 'Transport endpoint is not connected' out)" = 2 ]
        rm started go out
        assert_clean
    done
}

@test "a job is cancelled and its node clean though the server has stopped answering" {
    write_script job.sh 'touch started' 'sleep 1000'
    submit_alice -N 1 -o out --batchai-mount="volume=sshfs:data" job.sh
    eventually test -e started
    pid=$(pgrep -x -u alice 'sshd(-session)?' | tail -n 1)
    kill -STOP "$pid"
    scancel "$job"
    state=$(deadline=60 wait_job "$job")
    deadline=60 eventually nothing_left
    kill -CONT "$pid"
    [ "$state" = CANCELLED ]
}

@test "no other user sees a secret or a program's open files" {
    write_script job.sh 'touch started' 'sleep 1000'
    submit_alice -N 1 -o out --batchai-mount="volume=sshfs:ssh,volume=rclone_smb:rclone,volume=s3fs:s3" job.sh
    eventually test -e started
    {
        cat "$MINISLURM_DIR/password"
        sed -n 3p "$MINISLURM_DIR/sshd/user"
        awk '/^pass/ { print $3 }' "$MINISLURM_DIR/credentials/rclone"
    } >"$MINISLURM_DIR/secrets"
    found=$(
        scontrol show job -d "$job" | grep -aF -f "$MINISLURM_DIR/secrets"
        grep -aslF -f "$MINISLURM_DIR/secrets" /proc/[0-9]*/{cmdline,environ}
        grep -raslF -f "$MINISLURM_DIR/secrets" "$MINISLURM_DIR"/{log,state,node} "$work"
        for node in n1 n2; do
            on_node "$node" sh -c "grep -raslF -f $MINISLURM_DIR/secrets /run/batchai/jobs /tmp/batchai-*"
        done
        true
    )
    echo "$found"
    [ -z "$found" ]
    [ "$(daemons | wc -l)" = 3 ]
    for pid in $(daemons); do
        grep -qaF -f "$MINISLURM_DIR/secrets" "/proc/$pid/fd/101" # it is looked for as it is written
        [ "$(stat -Lc %a "/proc/$pid/fd/101")" = 400 ]
        for file in fd/101 mem environ root/; do
            ! as_alice head -c 1 "/proc/$pid/$file" || false
        done
    done
    # A crash does not show them either: the limit of a core is one byte.
    for pid in $(daemons); do
        [ "$(awk '/^Max core file size/ { print $5, $6 }' "/proc/$pid/limits")" = "1 1" ]
    done
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
}

@test "a requeued job has its mount anew" {
    write_script job.sh 'touch $AZ_BATCHAI_JOB_MOUNT_ROOT/data/run.${SLURM_RESTART_COUNT:-0}' \
        '[ -n "${SLURM_RESTART_COUNT-}" ] || sleep 1000'
    submit_alice -N 1 -o out --requeue --batchai-mount="volume=sshfs:data" job.sh
    eventually test -e "$served/run.0"
    scontrol requeue "$job"
    sleep 2 # slurmd refuses a credential of the second in which the job was killed: "already killed"
    eventually runs_again "$served/run.1"
    [ "$(wait_job "$job")" = COMPLETED ]
}

@test "two jobs of a user on one node have programs of their own" {
    for n in 1 2; do
        submit_alice -N 1 -w n1 -o "out.$n" --batchai-mount="volume=sshfs:data" \
            --wrap "touch started.$n; while [ ! -e go.$n ]; do sleep 0.1; done; echo $n >\$AZ_BATCHAI_JOB_MOUNT_ROOT/data/job.$n"
        jobs[n]=$job
    done
    eventually test -e started.1 -a -e started.2
    [ "$(daemons | wc -l)" = 2 ]
    : >go.1
    [ "$(wait_job "${jobs[1]}")" = COMPLETED ]
    eventually test "$(daemons | wc -l)" = 1
    : >go.2
    [ "$(wait_job "${jobs[2]}")" = COMPLETED ]
    [ "$(cat "$served"/job.*)" = $'1\n2' ]
}

@test "a process that has the number of a program of before a reboot is left alone" {
    on_node n1 sh -c 'mkdir -p -m 700 /run/batchai/jobs/mini-4711
        pgrep -xf "sleep infinity" >/run/batchai/number
        read -r stat </proc/$(cat /run/batchai/number)/stat
        set -- ${stat##*)}
        printf "mount=/nowhere\0daemon=%s 1 $(cat /proc/sys/kernel/random/boot_id)\0daemon=%s ${20} another-boot\0" \
            $(cat /run/batchai/number) $(cat /run/batchai/number) >/run/batchai/jobs/mini-4711/daemons
        touch /run/batchai/jobs/mini-4711/ending'
    as_alice srun -N 1 -w n1 --batchai-mount=tmpfs:t true
    eventually on_node n1 test ! -e /run/batchai/jobs/mini-4711
    on_node n1 sh -c 'kill -0 $(cat /run/batchai/number) && rm /run/batchai/number'
}
