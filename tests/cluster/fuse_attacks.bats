#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Attacks of a user on the store's credentials, which a program with her uid holds.
# minislurm: -n 1
# needs: root fuse clients smb
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # set in fuse.bash and plugin.bash

load fuse

setup_file() {
    make_images
    make_fuse_site
    entry rclone_own rclone token: user:rclone >>"$MINISLURM_DIR/batchai.toml"
    start_servers
}

setup() {
    enter_work
    own=$(alice_home)/.config/batchai/credentials
    as_alice mkdir -p "$own"
}

teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || show_logs
    cd /
    rm -rf "$(alice_home)/.config"
    forget_outputs
    assert_clean
}

snoop=$BATCHAI_SOURCE/tests/cluster/snoop.py

# As alice on the node, outside of any job.
alice_on_node() { on_node n1 setpriv --reuid alice --regid alice --init-groups "$@"; }

# submit_both LINE...: a job of a program with the store's key, and after it of one that uses alice's own
# configuration, by which it runs a script of hers. The script waits until let_go; meanwhile the store's programs,
# sshfs and its ssh, are in $work/programs by their numbers on the node.
submit_both() {
    write_script command "$@" 'touch waits' 'while [ ! -e go ]; do sleep 0.1; done' 'echo token'
    sed -i "2i cd $work" command
    (
        umask 077
        printf '[token]\ntype = webdav\nurl = http://10.87.0.1:9/\nbearer_token_command = %s\n' "$work/command" >"$own/rclone"
    )
    chown alice "$own/rclone"
    submit_alice -N 1 -o out --batchai-mount="volume=sshfs:ssh,volume=rclone_own:own" --wrap true
    eventually test -e waits
    on_node n1 pgrep -u alice '^ssh' >programs
}
let_go() {
    touch go
    [ "$(wait_job "$job")" = FAILED ] # port 9 has no server, so alice's mount fails after her script
}

# A process of alice's on the node that hands its /proc to each process that connects, for the FUSE programs' own show no other process.
snoops() {
    alice_on_node /usr/bin/python3 "$snoop" serve "$work/socket" 3>&- &
    eventually test -S socket
}

# After alice's script has looked, $work/seen has nothing about the store's programs.
saw_nothing() {
    kill_all '^/usr/bin/python3 .*snoop.py serve'
    cat programs seen
    grep -q ' fd/101$' seen # of alice's own program
    [ "$(wc -l <programs)" = 2 ]
    while read -r pid; do ! grep "^$pid " seen || return; done <programs
}

@test "a command that a user has a FUSE program run reads nothing of a program with the store's credentials" {
    snoops
    submit_both "/usr/bin/python3 $snoop look socket seen"
    let_go
    saw_nothing
}

@test "a process with the group of a user's FUSE program reads nothing of a program with the store's credentials" {
    submit_both "cp $(readlink -f /usr/bin/python3) python" 'chmod g+s python'
    snoops
    [ "$(stat -c %a python)" = 2755 ]
    alice_on_node "$work/python" "$snoop" look "$work/socket" "$work/seen"
    let_go
    saw_nothing
}

@test "a plain process of the user's reads nothing of a program with the store's credentials" {
    snoops
    submit_both
    alice_on_node /usr/bin/python3 "$snoop" look "$work/socket" "$work/seen"
    let_go
    saw_nothing
}

@test "no two programs with the store's credentials have the same group, and no other process has it" {
    submit_alice -N 1 -o out --batchai-mount="volume=sshfs:a,volume=sshfs:b,volume=s3fs:c,squashfuse=$images/data.sqsh:d" \
        --wrap 'touch started; sleep 1000'
    eventually test -e started
    for pid in $(daemons); do
        awk '/^Gid:/ { gid = $2 " " $3 " " $4 " " $5 } /^NSpid:/ { number = 2143289344 + $3 }
            END { print gid, (gid == number " " number " " number " " number) }' "/proc/$pid/status"
    done | sort >groups
    cat groups
    [ "$(grep -c ' 1$' groups)" = 3 ]
    [ "$(uniq groups | wc -l)" = 4 ]
    grep -qx '2001 2001 2001 2001 0' groups # of squashfuse, which has no credentials: alice's own group
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
}

@test "no file that a user leaves runs a command as a program with the store's credentials" {
    home=$(alice_home)
    as_alice mkdir -p "$home/.ssh"
    write_script command "touch $work/ran"
    printf 'Host *\nProxyCommand %s\n' "$work/command" >"$home/.ssh/config"
    chown -R alice "$home/.ssh"
    submit_alice -N 1 -o out --batchai-mount="volume=sshfs:ssh" --wrap 'echo /tmp/batchai-$SLURM_JOB_ID-* >started; sleep 1000'
    eventually test -s started
    rm -r "$home/.ssh"
    [ ! -e ran ]
    # HOME is neither the user's nor in a directory that the user can reach.
    pid=$(daemons)
    tr '\0' '\n' <"/proc/$pid/environ" >variables
    cat variables
    [ "$(grep -E '^(TMPDIR|XDG_CACHE_HOME)=' variables | cut -d= -f2 | sort -u)" = "$(cat started)/mount-ssh.cache" ]
    programs_home=$(sed -n 's/^HOME=//p' variables)
    [ "$(stat -c %U "/proc/$pid/root$programs_home")" = alice ]
    [[ $programs_home != "$(cat started)"* ]]
    ! as_alice touch "/proc/$pid/root$programs_home/file" || false
    alice_on_node test ! -e "$programs_home"
    run -1 as_alice srun -Q --jobid "$job" --overlap test -e "$programs_home"
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
}
