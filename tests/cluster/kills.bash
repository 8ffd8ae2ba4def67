# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The plugin's programs, killed at a system call of the test's choice: $libexec stands in the built
# programs' place, and runs under strace the one that $fault names. kill_at_each goes through all.

load plugin
: "${data:?}" "${open:?}" # set there

libexec=$MINISLURM_DIR/libexec
fault=$MINISLURM_DIR/fault # two lines: the start of a command line, options of strace
trace=$MINISLURM_DIR/trace # what strace saw
mounts="$data:a:ro,tmpfs:t,overlay=$data:o"

# System calls that change something, or that wait for a process that does. A program that is killed between
# two of them leaves the same as one that is killed before the second.
changes='/^(mkdir|mkdirat|rmdir|unlink|unlinkat|rename|renameat|renameat2|chmod|fchmod|fchmodat|chown|fchown|fchownat|fsetxattr|ftruncate)$'
changes+=',/^(mount|umount2|open_tree|move_mount|mount_setattr|fsopen|fsconfig|fsmount|unshare|setns|sched_setaffinity)$'
changes+=',/^(write|pwrite64|writev|sendto|sendmsg|flock|socketpair|clone|clone3|fork|vfork|kill|poll|wait4|exit_group)$'
changes+=',/^(setgroups|setresgid|setresuid|prctl|setpgid)$'

# Puts $libexec into plugstack.conf.
make_libexec() {
    local program
    mkdir -p "$libexec"
    for program in batchai-helper batchai-prep batchai-check; do
        cat >"$libexec/$program" <<SH
#!/bin/bash
if [ -e $fault ]; then
    { read -r whom && read -r -a options; } <$fault
    [[ "$program \$*" != "\$whom"* ]] || exec strace -A -o $trace "\${options[@]}" $BATCHAI_BUILD/bin/$program "\$@"
fi
exec $BATCHAI_BUILD/bin/$program "\$@"
SH
        chmod 755 "$libexec/$program"
    done
    sed -i "s|libexec=[^ ]*|libexec=$libexec|" "$MINISLURM_DIR/etc/plugstack.conf"
}

# with_fault WHOM OPTION...: from now on. Without arguments: no fault any more.
with_fault() {
    rm -f "$fault" "$trace"
    [ $# -gt 0 ] || return 0
    install -m 666 /dev/null "$trace"
    printf '%s\n' "$1" "${*:2}" >"$fault"
}

# places [-f]: of the last run, lines SYSCALL N: with -f those of the program's children too, which
# count each for itself.
places() {
    awk -v children="${1-}" '
        { line = $0; pid = 0 }
        children { pid = $1; sub(/^[0-9]+ +/, "", line) }
        line ~ /^[a-z0-9_]+\(/ {
            name = substr(line, 1, index(line, "(") - 1)
            if (++count[pid, name] > most[name]) print name, ++most[name]
        }' "$trace"
}

# sample [-f]: of lines SYSCALL N, in CI the first of each, of children the last; in soak all.
sample() {
    if [ "${BATCHAI_SOAK-0}" != 0 ]; then cat; else
        sort -k1,1 "-k2,2n${1:+r}" | awk '$1 != name { name = $1; print }'
    fi
}

# allow_squashfuse: users may mount the images below $open with it.
allow_squashfuse() {
    cat >>"$MINISLURM_DIR/batchai.toml" <<TOML
[program.squashfuse]
command = ["/usr/bin/squashfuse", "-f", "{source}", "{target}"]
[[allow]]
type = "fuse"
program = "squashfuse"
source = "$open"
TOML
}

# end_strace: what it traces goes on without it. With -DDD it does not hold up Slurm, which waits for the program.
end_strace() {
    local found
    with_fault
    found=$(on_node_named "^strace -A -o $trace")
    # shellcheck disable=SC2086
    [ -z "$found" ] || kill -9 $found || true # it may have ended meanwhile
}

was_killed() { grep -q 'killed by SIGKILL' "$trace"; }

setup() { enter_work; }

teardown() {
    with_fault
    [ -n "${BATS_TEST_COMPLETED-}" ] || [ -n "${BATS_TEST_SKIPPED-}" ] || show_logs
    cd /
    [ -z "${work-}" ] || forget_outputs
    assert_clean
}

# A job with mounts and a preparation; its state is in $state.
# shellcheck disable=SC2154 # work and job are set in plugin.bash
run_job() {
    rm -f out started
    submit_alice -N 1 -o out --batchai-mount="$mounts" --batchai-output="$work" --batchai-prep=true --wrap 'touch started'
    state=$(wait_job "$job")
}

# kill_at_each WHOM CHECK [-f]: a job for each place of the program, with -f of its children too; CHECK looks what
# became of it.
kill_at_each() {
    local call n check count=0
    # shellcheck disable=SC2086 # none or one
    with_fault "$1" ${3-} -e "trace=$changes"
    run_job
    [ "$state" = COMPLETED ]
    on_node n1 batchai-helper sweep --policy "$MINISLURM_DIR/batchai.toml" >/dev/null
    assert_clean
    places "${3-}" | sample "${3-}" >places
    [ -s places ]
    while read -r call n; do
        # shellcheck disable=SC2086
        with_fault "$1" ${3-} -e "trace=$call" -e "inject=$call:signal=SIGKILL:when=$n"
        run_job
        check=$2
        # Some are not there every time, as an answer may come in one piece or in two.
        if was_killed; then count=$((count + 1)); else check=ran_or_failed; fi
        with_fault
        "$check" || {
            echo "$1 was killed at $call $n: the job is $state: $(cat out)" >&2
            return 1
        }
    done <places
    echo "# killed $1 $count times" >&3
    [ "$count" -gt 0 ]
}

# Of the program itself, not of a child.
failed() {
    [ "$state" = FAILED ] && [ ! -e started ] || return
    [ "$(one_line out)" = "batchai: n1: batchai-helper was ended by signal 9" ] || return
    assert_clean
}

# The job has run, or it has failed with one line and its script has not started.
ran_or_failed() {
    if [ "$state" = COMPLETED ]; then [ -e started ] && [ ! -s out ] || return; else
        [ "$state" = FAILED ] && [ ! -e started ] || return
        [[ $(one_line out) == "batchai: n1: "* ]] || return
    fi
    assert_clean
}

ran_and_is_swept() {
    end_strace # it would kill the background process at each of its tries
    [ "$state" = COMPLETED ] && [ -e started ] && [ ! -s out ] || return
    on_node n1 batchai-helper sweep --policy "$MINISLURM_DIR/batchai.toml" >/dev/null
    assert_clean
}
