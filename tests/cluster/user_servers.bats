#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Files that a user serves: her FUSE server says whose they are, or does not answer root.
# minislurm: -n 1 -s ProctrackType=proctrack/cgroup -s UnkillableStepTimeout=10
# needs: root fuse loop freezer
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # data, open and work are set in plugin.bash; status and output by run

load plugin

server=$MINISLURM_DIR/alices # a directory of alice's in one of root's, where she mounts what she serves
dead=$open/dead              # her server is dead as long as it is there, for the operations in it

setup_file() {
    make_site 'mount_timeout = 3'
    cat >>"$MINISLURM_DIR/batchai.toml" <<TOML
[paths]
credentials = "$MINISLURM_DIR/credentials"
[program.served]
command = ["$server/sub/file", "{credentials}"]
[program.true]
command = ["/bin/true", "{credentials}"]
[[allow]]
name = "stored"
type = "fuse"
program = "served"
source = "x"
credentials = "store:key"
[[allow]]
name = "own"
type = "fuse"
program = "true"
source = "x"
credentials = "user:file"
[[allow]]
type = "bind"
source = "$server"
[[allow]]
type = "squashfs"
source = "$MINISLURM_DIR"
[[allow]]
type = "overlay"
source = "$server"
max_size = "16M"
TOML
    install -d -o alice "$server"
    install -d -m 700 "$MINISLURM_DIR/credentials"
    (umask 077 && echo key >"$MINISLURM_DIR/credentials/key")
    mkdir "$MINISLURM_DIR/evil"
    echo evil >"$MINISLURM_DIR/evil/file"
    mksquashfs "$data" "$MINISLURM_DIR/good.sqsh" -quiet -no-progress >/dev/null
    mksquashfs "$MINISLURM_DIR/evil" "$MINISLURM_DIR/evil.sqsh" -quiet -no-progress >/dev/null
    # slurmd hands its cgroup.conf, read at its start, to its steps.
    printf 'CgroupPlugin=cgroup/v1\nCgroupAutomount=yes\n' >"$MINISLURM_DIR/etc/cgroup.conf"
    restart_slurmd n1
    eventually node_is_up n1
    let_users_serve "$MINISLURM_DIR/fuse"
    remember_nodes
}

# let_users_serve DIRECTORY: on the node users may open /dev/fuse, and let others see what they serve.
let_users_serve() {
    echo user_allow_other >"$1.conf"
    mkdir "$1"
    on_node n1 sh -c "mount --bind $1.conf /etc/fuse.conf && mount -t tmpfs device $1 &&
        mknod -m 666 $1/fuse c 10 229 && mount --bind $1/fuse /dev/fuse"
}

setup() { enter_work; }

teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || show_logs
    cd /
    back
    on_node n1 umount "$server" # the server ends with it
    rm -rf "$(alice_home)/.config"
    forget_outputs
    assert_clean
}

# serve [FILE]: alice serves $server/sub/file on the node, from outside any job. It has the content of FILE.
serve() { serve_as alice "$@"; }
serve_as() {
    on_node n1 setpriv --reuid "$1" --regid "$1" --init-groups \
        /usr/bin/python3 "$BATCHAI_SOURCE/tests/cluster/dead_server.py" "$server" "$dead" "${@:2}" 3>&-
    on_node n1 grep -q " $server fuse .*,user_id=$(id -u "$1"),.*allow_other" /proc/mounts
}
dies() { echo "$1" >"$dead"; }
asked() { [ -e "$dead.asked.n1" ]; }
back() { rm -f "$dead"*; }

# The processes that wait for alice's server, which SIGKILL does not end.
waiting() { ps -eo pid=,wchan:30=,comm= | awk '$2 == "request_wait_answer" && $3 ~ /^batchai/ { print $1 }'; }
none_waits_in_a_job() {
    local pid
    for pid in $(waiting); do ! grep "job_" "/proc/$pid/cgroup" || return; done
}

# The job is over, though the server is still dead: the job and its node do not wait for it.
job_is_gone() {
    eventually node_is_up n1
    [ -z "$(sinfo -h -R)" ]
    [ ! -e started ]
    [ -z "$(on_node n1 ls /run/batchai/jobs)" ]
    [ -z "$(find /sys/fs/cgroup/freezer -name 'job_*')" ]
    as_alice srun -Q true
}

# fails_in_time OPERATIONS MOUNT LINE: while alice's server does not answer the operations, a job with the mount fails
# with that line. A job that is cancelled meanwhile is over at once.
fails_in_time() {
    rm -f out
    dies "$1"
    submit_alice -N 1 -o out --batchai-mount="$2" --wrap 'touch started'
    eventually asked
    eventually none_waits_in_a_job
    [ "$(wait_job "$job")" = FAILED ]
    [ "$(one_line out)" = "batchai: n1: $3" ]
    job_is_gone
    [ -n "$(waiting)" ] # left behind
    back
    assert_clean_but_server
}
assert_clean_but_server() { eventually nothing_but_server; }
nothing_but_server() { [ -z "$(leftovers | grep -v "running: .*dead_server\.py\|mounted: .* $server ")" ]; }

# mounts IMAGE: what a job sees in the image's file, or why it does not run.
mounts() { as_alice srun -Q -N 1 --batchai-mount="squashfs=$1:i" cat /run/batchai/mnt/i/file 2>&1; }
not_mounted="the image is on a file system that a user may serve"

@test "the kernel mounts no image that a user serves, whatever her server says of it" {
    serve "$MINISLURM_DIR/evil.sqsh"
    [ "$(stat -c '%u %a' "/proc/$(on_node_named '^slurmd -N n1')/root$server/sub/file")" = "0 444" ]
    run mounts "$server/sub/file"
    [[ $output == "batchai: n1: $server/sub/file: $not_mounted (fuse of user 2001 at $server): keep images on"* ]]
    [[ $(on_node n1 losetup --list) != *"$server"* ]]
    # Root has bound it elsewhere, or has laid an overlay over it.
    mkdir -p "$MINISLURM_DIR/bound" "$MINISLURM_DIR/over"
    on_node n1 mount --bind "$server/sub" "$MINISLURM_DIR/bound"
    on_node n1 mount -t overlay -o "lowerdir=$server/sub:$data/sub" overlay "$MINISLURM_DIR/over"
    run mounts "$MINISLURM_DIR/bound/file"
    [[ $output == *"$not_mounted (fuse of user 2001 at $MINISLURM_DIR/bound)"* ]]
    run mounts "$MINISLURM_DIR/over/file"
    [[ $output == *"$not_mounted (overlay at $MINISLURM_DIR/over)"* ]]
    on_node n1 umount "$MINISLURM_DIR/bound" "$MINISLURM_DIR/over"
    [ "$(mounts "$MINISLURM_DIR/good.sqsh")" = data ]
}

@test "a user who exchanges what an image's name leads to gets no image of hers mounted" {
    serve "$MINISLURM_DIR/evil.sqsh"
    as_alice ln -s "$MINISLURM_DIR/good.sqsh" image
    as_alice sh -c "until [ -e stop ]; do
        for to in $server/sub/file $MINISLURM_DIR/good.sqsh; do ln -sf \$to new; mv -T new image; done; done" 3>&- &
    exchanger=$!
    for ((round = 0; round < 12; round++)); do mounts "$work/image" || true; done >seen
    touch stop
    wait "$exchanger" || true
    cat seen
    grep -q "$not_mounted" seen
    ! grep -x evil seen || false
}

@test "a job whose source's server does not answer root fails in time, and its node goes on" {
    serve
    for operations in GETATTR "LISTXATTR GETXATTR" STATFS; do
        fails_in_time "$operations" "overlay=$server/sub:o" "mounting $server/sub at o: no answer within 3 seconds"
    done
    fails_in_time LOOKUP "$server/sub:b" "mount source $server/sub: no answer within 3 seconds"
}

@test "a job whose image's server is one of root's, and dead, fails in time, and its node goes on" {
    serve_as root "$MINISLURM_DIR/good.sqsh"
    [ "$(mounts "$server/sub/file")" = data ]
    fails_in_time GETATTR "squashfs=$server/sub/file:i" "mounting $server/sub/file at i: no answer within 3 seconds"
}

@test "a job whose own credentials' server does not answer fails in time, and its node goes on" {
    serve
    as_alice mkdir -p "$(alice_home)/.config/batchai"
    as_alice ln -s "$server/sub" "$(alice_home)/.config/batchai/credentials"
    for operations in GETATTR FLUSH; do
        fails_in_time "$operations" volume=own:c "credentials user:file: no answer within 3 seconds"
    done
}

@test "root asks the server of a user about no directory that it binds, no image and no program" {
    serve
    dies "GETATTR STATFS GETXATTR LISTXATTR FLUSH OPEN READ"
    submit_alice -N 1 -o out --batchai-mount="$server/sub:b" --wrap 'grep -c /run/batchai/mnt/b /proc/self/mountinfo'
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat out)" = 1 ]
    run mounts "$server/sub/file"
    [[ $output == *"$not_mounted"* ]]
    run as_alice srun -Q -N 1 --batchai-mount=volume=stored:s true
    [[ $output == *"site policy: program served, which gets credentials of the store: $server: is on a file server of a user (fuse of user 2001 at $server): use another directory"* ]]
    ! asked || false
}

@test "a job is cancelled while root waits for its source's server" {
    serve
    sed -i 's/^mount_timeout = 3$/mount_timeout = 120/' "$MINISLURM_DIR/batchai.toml"
    dies GETATTR
    submit_alice -N 1 -o out --batchai-mount="overlay=$server/sub:o" --wrap 'touch started'
    eventually asked
    scancel "$job"
    state=$(wait_job "$job") || true
    sed -i 's/^mount_timeout = 120$/mount_timeout = 3/' "$MINISLURM_DIR/batchai.toml"
    [ "$state" = CANCELLED ] # before KillWait, after which Slurm ends root's processes of the job
    [ "$(grep '^batchai: ' out)" = "batchai: n1: batchai-helper was ended by SIGTERM: the job was cancelled or reached its time limit" ]
    job_is_gone
    [ -n "$(waiting)" ]
    back
    assert_clean_but_server
}
