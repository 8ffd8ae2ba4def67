#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Races of a user with root's set-up. With job_container/tmpfs the user's processes may already run in the namespace
# in which root makes the job's mounts. strace makes root wait after each change.
# minislurm: -n 1 -s PrologFlags=contain
# needs: root ptrace
# plugin: policy=/run/minislurm/batchai.toml

load kills

setup_file() {
    make_site
    make_libexec
    give_jobs_own_tmp n1
}

# What changes something that a name leads to, or puts it where names lead to it.
exposed='/^(mkdir|mkdirat|symlink|symlinkat|mknod|mknodat|chmod|fchmod|fchmodat|chown|fchown|fchownat|fsetxattr|move_mount|mount)$'

# race ROUNDS NAME MOUNT: jobs whose batch script runs the racer, which waits for NAME below the mount root, and whose
# only step has the mount, at o.
race() {
    local i
    echo bait >bait && chmod 600 bait
    write_script job.sh "$BATCHAI_BUILD/tests/racer /run/batchai/mnt $2 $work/bait >>raced &" 'sleep 0.1' \
        "srun --overlap --batchai-mount=$3:o cat /run/batchai/mnt/o/file"
    for ((round = 0; round < $1; round++)); do
        submit_alice -N 1 -w n1 -o out job.sh
        [ "$(wait_job "$job")" = COMPLETED ]
        [ "$(cat out)" = data ]
        [ "$(stat -c '%U %a' bait)" = "root 600" ]
    done
    [ "$(grep -c exchanged raced)" = 0 ]
}

@test "a user who exchanges what root makes for an overlay changes no file of root's" {
    with_fault 'batchai-helper setup' -f -e "trace=$exposed" -e "inject=$exposed:delay_exit=20000"
    race 3 o/upper "overlay=$data"
    grep 'refused: Permission denied' raced # root's directory was there when the racer looked
    with_fault
    rounds=$(often 200 3)
    race "$rounds" o/upper "overlay=$data"
}

@test "a user who exchanges the directory that a mount goes to changes no file of root's" {
    with_fault 'batchai-helper setup' -f -e "trace=$exposed" -e "inject=$exposed:delay_exit=20000"
    for source in "overlay=$data" "$data"; do
        race 2 o "$source"
        grep 'refused: Read-only file system' raced
        rm raced
    done
}

@test "an overlay of a directory whose access list it cannot keep is refused" {
    # No file system here has NFSv4's: strace answers for one.
    with_fault 'batchai-helper setup' -f -e trace=fsetxattr -e inject=fsetxattr:error=EOPNOTSUPP
    mkdir -p "$data/listed" && setfacl -m u:bob:--- "$data/listed"
    run as_alice srun -Q -w n1 --batchai-mount="overlay=$data/listed:o" true
    with_fault
    rm -r "$data/listed"
    [ "$status" = 1 ]
    [[ $output == *"batchai: n1: mounting $data/listed at o: the source has the attribute system.posix_acl_access, which an overlay cannot keep: mount the source with bind"* ]]
}
