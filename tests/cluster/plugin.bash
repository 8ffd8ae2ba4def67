# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Shared parts of the plugin's tests: a site policy, a share, a job file, a user.

load lib
: "${deadline:?}" # set there

share=$MINISLURM_DIR/share   # [[share]] myshare
data=$MINISLURM_DIR/data     # may be mounted read-only
open=$MINISLURM_DIR/open     # may be mounted
secret=$MINISLURM_DIR/secret # may not be mounted

# The user whose jobs the tests run: alice, or ourselves where there is no root.
as_alice() {
    if [ "$(id -u)" = 0 ]; then as_user alice "$@"; else timeout -k 2 "$deadline" "$@"; fi
}
submit_alice() {
    job=$(as_alice sbatch --parsable "$@") || return
    job=${job%%;*}
}
alice_home() { if [ "$(id -u)" = 0 ]; then echo "$MINISLURM_DIR/home/alice"; else echo "$HOME"; fi; }

setup_file() { make_site; }

# make_site [LINE]...: the policy, with more lines for its [job] table, and the directories it names.
# shellcheck disable=SC2120 # not every file passes lines
make_site() {
    {
        printf '[job]\n'
        printf '%s\n' "$@"
        cat <<TOML
[[share]]
share = "myshare"
type = "bind"
source = "$share"
login_path = "$share"
[[allow]]
type = "bind"
source = "$data"
read_only = true
[[allow]]
type = "bind"
source = "$open"
[[allow]]
type = "overlay"
source = "$data"
max_size = "16M"
[[allow]]
type = "tmpfs"
max_size = "64M"
TOML
    } >"$MINISLURM_DIR/batchai.toml"
    mkdir -p "$share/code" "$data/sub" "$open" "$secret"
    echo "print('hello')" >"$share/code/train.py"
    echo data >"$data/file"
    echo secret >"$secret/file"
    chmod 777 "$share" "$open"
}

# A directory that alice can write to, seen by all nodes.
enter_work() {
    work=$MINISLURM_DIR/work.$BATS_TEST_NUMBER
    mkdir -p "$work"
    chmod 777 "$work"
    cd "$work" || return
}

# write_job FILE NODES [PREPARATION [SCRIPT]]
write_job() {
    local preparation=""
    [ -z "${3-}" ] || preparation="\"jobPreparation\": {\"commandLine\": \"$3\"},"
    cat >"$1" <<JSON
{
    "properties": {
        "nodeCount": $2,
        "horovodSettings": {
            "pythonScriptFilePath": "${4-\$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/code/train.py}"
        },
        $preparation
        "stdOutErrPathPrefix": "\$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/out",
        "mountVolumes": {
            "azureFileShares": [
                {
                    "azureFileUrl": "https://account.file.core.windows.net/myshare",
                    "relativeMountPath": "myshare"
                }
            ]
        }
    }
}
JSON
}

# write_script FILE LINE...: a batch script. A step that follows another one is an `srun -Q`: on a busy machine it may wait
# for the end of the other one, and srun says so on stderr.
write_script() {
    printf '#!/bin/bash\n' >"$1"
    printf '%s\n' "${@:2}" >>"$1"
    chmod 755 "$1"
}

# A node's processes of that name, in our process numbers.
on_node_named() { ps -eo pid=,args= | awk -v what="$1" '{ pid = $1; sub(/^ *[0-9]+ /, "") } $0 ~ what { print pid }'; }

# shown_in_ps TEXT: the processes of this machine and its nodes that have the text among their arguments.
# A process that starts meanwhile, such as grep itself, is not looked at.
shown_in_ps() {
    local file
    for file in /proc/[0-9]*/cmdline; do
        ! grep -qaF -- "$1" "$file" 2>/dev/null || echo "$file: $(tr '\0' ' ' <"$file")"
    done
}

# waiting_preparation NEEDLE: a command that contains the needle. It makes "preparing.NODE" in the test's directory and
# waits for a file "go" there.
waiting_preparation() { echo "touch $work/preparing.\$(hostname); while [ ! -e $work/go ]; do sleep 0.1; done; : $1"; }

# kill_all NAME: kill -9 of the nodes' processes of that name, of which there must be some.
kill_all() {
    local found
    found=$(on_node_named "$1")
    [ -n "$found" ] || {
        echo "no process $1" >&2
        return 1
    }
    # shellcheck disable=SC2086
    kill -9 $found
}
runs() { [ -n "$(on_node_named "$1")" ]; }
is_not_running() { ! runs "$1"; }

# runs_again FILE: the job was requeued and has made the file. It would wait for two minutes unless it is told not to.
runs_again() {
    [ "$(job_state "$job")" != PENDING ] || scontrol update JobId="$job" StartTime=now
    [ -e "$1" ]
}

# How often slurmctld was asked about a single job.
questions() { sdiag | awk '/REQUEST_JOB_INFO_SINGLE/ { sub(/.*count:/, ""); found = $1 } END { print found + 0 }'; }

# submit_held [SBATCH_ARGUMENT]...: a job of two nodes whose set-up on n1 waits until let_go, for another process
# has locked root's notes.
submit_held() {
    submit_alice -H -N 2 -o out --batchai-mount="$data:a:ro,tmpfs:t" "$@" --wrap 'touch started'
    on_node n1 sh -c "mkdir -m 700 -p /run/batchai/jobs/mini-$job && exec flock /run/batchai/jobs/mini-$job sleep 1004" &
    holder=$!
    eventually runs '^sleep 1004'
    scontrol release "$job"
    eventually runs '^batchai-helper setup'
}
let_go() {
    kill_all '^sleep 1004'
    wait "$holder" || true
}

# running_job [SBATCH_ARGUMENT]...: a job of two nodes with mounts, started.
running_job() {
    write_script job.sh 'srun touch started.$SLURM_JOB_ID' 'srun sleep 1000'
    submit_alice -N 2 -o out --batchai-mount="$data:a:ro,tmpfs:t,overlay=$data:o" --batchai-prep=true "$@" job.sh
    eventually test -e "started.$job"
}

# leave_behind COMMAND: a job on n1 starts it in a session of its own, and ends when the command has made the file "left".
leave_behind() {
    rm -f left
    write_script leave "exec $1"
    as_alice srun -w n1 --batchai-mount="$data:a:ro,tmpfs:t" sh -c \
        'setsid ./leave >/dev/null 2>&1 & while [ ! -e left ]; do sleep 0.1; done'
}

# No process has the mount root of a job in its namespace.
no_roots_of_jobs() { ! grep -lE ' - tmpfs batchai-[0-9]+-' /proc/[0-9]*/task/*/mountinfo 2>/dev/null; }

# restart_slurmd NODE [PREFIX]...: with what slurm.conf says now.
restart_slurmd() {
    local old
    old=$(on_node_named "^slurmd -N $1")
    # shellcheck disable=SC2086
    kill $old
    while kill -0 "$old" 2>/dev/null; do sleep 0.1; done
    on_node "$1" "${@:2}" slurmd -N "$1"
}
node_is_up() { [ "$(sinfo -h -n "$1" -o %T)" = idle ]; }

# give_jobs_own_tmp NODE...: job_container/tmpfs, for a cluster with PrologFlags=contain.
give_jobs_own_tmp() {
    local node
    printf 'AutoBasePath=true\nBasePath=/run/containers\n' >"$MINISLURM_DIR/etc/job_container.conf"
    echo 'JobContainerType=job_container/tmpfs' >>"$MINISLURM_DIR/etc/slurm.conf"
    for node; do restart_slurmd "$node" taskset -c "$(cpu_of "$node")"; done
    as_alice srun -Q -N $# true
    remember_nodes
}

# cpu_of NODE: a processor on which Linux 6.x lets a namespace be kept: elsewhere than in the first namespace of a
# machine Slurm fails at random (spank/helper/root/namespace.hpp).
cpu_of() {
    on_node "$1" sh -c '
        mkdir -p /run/pin && mount --bind /run/pin /run/pin && mount --make-private /run/pin && touch /run/pin/file
        for cpu in $(seq 0 $(($(nproc --all) - 1))); do
            taskset -c $cpu unshare --mount=/run/pin/file true 2>/dev/null && umount /run/pin/file && echo $cpu && break
        done
        umount /run/pin'
}

# The one stdouterr directory below the share, the one record directory of alice.
stdouterr() { find "$share/out" -type d -name stdouterr; }
record() { dirname "$(find "$(alice_home)/.local/share/batchai/jobs" -name job.json)"; }

# one_line FILE: fails unless the file is one line; prints it.
one_line() {
    [ "$(wc -l <"$1")" = 1 ] || {
        echo "not one line: $(cat "$1")" >&2
        return 1
    }
    cat "$1"
}

# refused COMMAND...: fails unless the command exits with 1 after one line, which is printed.
refused() {
    local code=0
    "$@" >refused.out 2>&1 || code=$?
    [ "$code" = 1 ] || {
        echo "exit code $code: $(cat refused.out)" >&2
        return 1
    }
    one_line refused.out
}

# clean_users_files: what a job may leave by design, between two tests.
forget_outputs() { rm -rf "$share/out" "$(alice_home)/.local" "$work"; }

teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || [ -n "${BATS_TEST_SKIPPED-}" ] || show_logs
    cd /
    [ -z "${work-}" ] || forget_outputs
    assert_clean
}
