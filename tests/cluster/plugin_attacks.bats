#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Attacks of a user on root, on another user, or on another user's secrets.
# minislurm: -n 2
# plugin: policy=/run/minislurm/batchai.toml

load plugin

setup_file() {
    make_site
    cat >>"$MINISLURM_DIR/batchai.toml" <<'TOML'
[[preparation]]
command = "apt *"
replace = "cd $SLURM_SUBMIT_DIR; touch preparing.$(hostname); while [ ! -e go ]; do sleep 0.1; done"
TOML
}

setup() { enter_work; }

as_bob() { as_user bob "$@"; }
root='$AZ_BATCHAI_JOB_MOUNT_ROOT'

# Every file of the cluster's daemons that has the text in it.
slurms_files_with() { grep -rlF -- "$1" "$MINISLURM_DIR"/{log,state,spool,etc} 2>/dev/null || true; }

# "PID FILE" of each process of the machine whose command line or environment has the text.
processes_with() {
    local file
    for file in /proc/[0-9]*/{cmdline,environ}; do
        ! grep -qaF -- "$1" "$file" 2>/dev/null || echo "$file"
    done
}

@test "a job's secret is in its processes, in root's note on its nodes and in its owner's record, and nowhere else" {
    need_root
    needle=n33dle.$RANDOM$RANDOM$RANDOM # in no argument of this test's programs
    write_job plain.json 2 'touch prepared'
    NEEDLE=$needle jq '.properties.secrets = [{name: "TOKEN", value: env.NEEDLE}]' plain.json >job.json
    chmod 600 job.json && chown alice job.json
    write_script job.sh 'srun bash -c "echo \${#TOKEN} >started.\$SLURM_PROCID; while [ ! -e done ]; do sleep 0.1; done"'
    submit_alice -N 2 -o out --batchai-job=job.json job.sh
    eventually test -s started.0 -a -s started.1
    [ "$(cat started.0)" = "${#needle}" ] # the job has it

    found=$(processes_with "$needle")
    checked=0
    for file in $found; do
        [[ $file == */environ ]] # never an argument
        owner=$(stat -c %U "$file") && of_job=$(grep -caF "SLURM_JOB_ID=$job" "$file") || true
        [ -e "$file" ] || continue # a process that has ended since: one of the loop's sleeps
        [ "$owner" = alice ]
        [ "$of_job" -gt 0 ]
        checked=$((checked + 1))
    done
    [ "$checked" -gt 0 ]
    [ -z "$(slurms_files_with "$needle")" ]
    run scontrol show job -dd "$job"
    [[ $output != *"$needle"* ]]
    # On its nodes for later tasks, until the job ends: root's own note.
    run on_node n1 find /run/batchai/jobs -type f -not -path '*/namespace' -exec grep -qF "$needle" {} \; -printf '%u %m %f\n'
    [ "$output" = "root 600 state" ]
    : >done
    [ "$(wait_job "$job")" = COMPLETED ]
    run grep -rlF "$needle" out "$share/out"
    [ "$output" = "" ]
    # What stays: the snapshot, for its owner alone.
    run grep -rlF "$needle" "$(alice_home)/.local/share/batchai"
    [ "${#lines[@]}" = 1 ]
    [ "$(stat -c '%U %a' "${lines[0]}")" = "alice 600" ]
}

# not_in_ps NEEDLE: while the job's preparation runs on both nodes.
not_in_ps() {
    eventually test -e preparing.n1 -a -e preparing.n2
    run shown_in_ps "$1"
    [ "$output" = "" ]
    touch go
    [ "$(wait_job "$job")" = COMPLETED ]
    rm go preparing.*
}

@test "a preparation's command is not among the arguments of a process" {
    needle=n33dle$RANDOM$RANDOM$RANDOM # in no argument of this test's programs
    write_script job.sh "#SBATCH --batchai-prep=\"$(waiting_preparation $needle)\"" 'touch started'
    submit_alice -N 2 -o out job.sh
    not_in_ps "$needle"
    write_script job.sh 'touch started'
    write_job job.json 2 "$(waiting_preparation $needle)"
    submit_alice -N 2 -o out --batchai-job=job.json job.sh
    not_in_ps "$needle"
    # The site replaces it, and says so with a line that quotes it.
    write_job job.json 2 "apt install $needle"
    submit_alice -N 2 -o out --batchai-job=job.json job.sh
    not_in_ps "$needle"
    grep -rqF "this site replaces 'apt install $needle' by 'cd" "$share/out" --include=execution-n1.log
}

@test "a symbolic link that is exchanged while jobs start mounts nothing outside of the allowlist" {
    mkdir -p "$open/mine"
    : >"$secret/bait"
    bash -c 'while [ ! -e "$1/stop" ]; do rm -rf "$2/racing"; mkdir "$2/racing"; rm -rf "$2/racing"; ln -s "$3" "$2/racing"; done' - "$work" "$open" "$secret" 2>/dev/null &
    racer=$!
    rounds=$(often 200 8)
    for ((round = 0; round < rounds; round++)); do
        as_alice srun -w n1 --batchai-mount="$open/racing:a" sh -c "ls $root/a" >>seen 2>>refusals || true
    done
    touch stop
    wait "$racer"
    [ -s refusals ] # the link was there when a job started
    run grep bait seen
    [ "$output" = "" ]
}

@test "a user's own mount at an allowed path is not taken for the allowed directory" {
    need_root
    on_node n1 setpriv --reuid alice --regid alice --init-groups unshare --user --map-root-user --mount \
        python3 "$BATCHAI_SOURCE/tests/cluster/detached_tree.py" "$data/sub" "$work/where" &
    holders=$!
    eventually test -s where
    ln -s "$(cat where)" "$data/link"
    # The same with the source's own path, below the root of the user's namespace.
    mkdir mine && echo forged >mine/file
    on_node n1 setpriv --reuid alice --regid alice --init-groups unshare --user --map-root-user --mount \
        sh -c 'mount --bind mine "$0" && echo /proc/$$/root"$0" >there && exec sleep 1003' "$data/sub" &
    holders+=" $!"
    eventually test -s there
    ln -s "$(cat there)" "$data/root"
    for source in link root; do
        for mount in "$data/$source:a" "overlay=$data/$source:a"; do
            run -1 as_alice srun -Q -w n1 --batchai-mount="$mount" cat /run/batchai/mnt/a/file
            [[ $output != *forged* ]]
            [[ $output == *"batchai: n1: a: the source is not on a mount of this node"* ]]
        done
    done
    rm "$data/link" "$data/root"
    kill_all '^python3 .*detached_tree'
    kill_all '^sleep 1003'
    wait $holders || true
}

@test "forged variables of the plugin have no effect" {
    for forged in BATCHAI_NODE_READY=1 AZ_BATCHAI_JOB_MOUNT_ROOT="$secret" BATCHAI_POLICY=/dev/null \
        SLURM_SPANK_BATCHAI_MOUNT="$secret:a" SPANK_BATCHAI_MOUNT="$secret:a" _SLURM_SPANK_OPTION_batchai_batchai_mount="$secret:a"; do
        run as_alice env "$forged" srun -Q -w n1 --batchai-mount="$data:b:ro" sh -c 'cat /run/batchai/mnt/a/file; echo "$AZ_BATCHAI_JOB_MOUNT_ROOT"'
        [[ $output != *secret$'\n'* ]]
        [ "$status" != 0 ] || grep -qx /run/batchai/mnt <<<"$output" # cat's error may come after it
    done
}

@test "a log directory of another user is not written to" {
    need_root
    mkdir -p bobs && chown bob bobs && chmod 755 bobs
    submit_alice -N 1 -o out --batchai-output="$work/bobs" --batchai-prep='echo hello' --wrap 'touch started'
    [ "$(wait_job "$job")" = FAILED ]
    [[ $(one_line out) == "batchai: n"*"$work/bobs/stdout-job_prep-n"*"Permission denied" ]]
    [ -z "$(ls bobs)" ]
    [ ! -e started ]
}

@test "a record directory of another user is not written to" {
    need_root
    mkdir -p bobs && chown bob bobs && chmod 755 bobs
    write_job job.json 1
    run -0 refused as_alice env XDG_DATA_HOME="$work/bobs" sbatch --batchai-job=job.json --wrap true
    [[ $output == "batchai: "*"$work/bobs: belongs to bob, and you may not make directories in it: "* ]]
    [ -z "$(ls bobs)" ]
}

@test "a user cannot read or end another's job on the same node" {
    need_root
    write_script job.sh 'touch started' 'while [ ! -e done ]; do sleep 0.1; done'
    submit_alice -N 1 -w n1 -o out --batchai-mount="$open:a,tmpfs:t" job.sh
    eventually test -e started
    for command in "ls /run/batchai/jobs/mini-$job" "nsenter --mount=/run/batchai/jobs/mini-$job/namespace ls /run/batchai/mnt" \
        "rm -r /run/batchai/jobs/mini-$job" "batchai-helper teardown --job mini-$job" "ls /tmp/batchai-$job-*/"; do
        run as_bob srun -w n1 sh -c "$command"
        [ "$status" != 0 ] || { echo "$command: $output" && false; }
    done
    run ! as_bob srun -w n1 --jobid "$job" --overlap true
    on_node n1 test -e "/run/batchai/jobs/mini-$job/namespace"
    : >done
    [ "$(wait_job "$job")" = COMPLETED ]
}

@test "an option with quotes, dollars, line ends or commas is data, and nothing is run" {
    cd "$open" && mkdir -p "a\$(touch pwned)b" "it's \"quoted\""
    run as_alice srun -w n1 --batchai-mount="$open/a\$(touch pwned)b:x,$open/it's \"quoted\":y" sh -c "cd $root && ls"
    [ "$output" = $'x\ny' ]
    for option in $'tmpfs:a\n' 'tmpfs:a,,' 'tmpfs:`id`/../b' "tmpfs:a:size=1;id" "tmpfs:$(printf 'x%.0s' {1..5000})"; do
        run ! as_alice srun -w n1 --batchai-mount="$option" true
        [ "${#lines[@]}" = 1 ]
    done
    [ -z "$(find "$MINISLURM_DIR" -xdev -name pwned)" ]
}

@test "a snapshot that is exchanged after the submission gives no mount outside of the allowlist" {
    write_job job.json 1
    write_script job.sh 'while [ ! -e go ]; do sleep 0.1; done' "srun ls $root"
    submit_alice -N 1 -H -o out --batchai-job=job.json job.sh
    snapshot=$(find "$(alice_home)/.local/share/batchai/jobs" -name job.json -newer job.sh)
    sed -i 's,/myshare",/other",' "$snapshot"
    scontrol release "$job"
    [ "$(wait_job "$job")" = FAILED ]
    [[ $(one_line out) == "batchai: n1: share 'other' of account 'account' is unknown here: "* ]]
}

@test "set-user-ID programs and devices on a mount have no effect" {
    need_root
    cp /usr/bin/id "$open/id" && chmod 4755 "$open/id"
    mknod "$open/null" c 1 3 && chmod 666 "$open/null"
    [ "$(as_alice "$open/id" -u)" = 0 ] # without the plugin's flags they do
    run as_alice srun -Q -w n1 --batchai-mount="$open:a" sh -c "exec 2>&1; $root/a/id -u; cat $root/a/null"
    rm "$open/id" "$open/null"
    grep -qx "$(id -u alice)" <<<"$output" # srun's own word on the exit code may come before it
    [[ $output == *"Permission denied"* ]]
}

@test "a snapshot that is exchanged between steps changes nothing" {
    write_job job.json 1
    write_script job.sh 'touch started' 'while [ ! -e go ]; do sleep 0.1; done' "srun ls $root" 'srun --overlap ls /run/batchai/mnt'
    submit_alice -N 1 -o out --batchai-job=job.json job.sh
    eventually test -e started
    snapshot=$(find "$(alice_home)/.local/share/batchai/jobs" -name job.json -newer job.sh)
    sed -i 's,"relativeMountPath": "myshare","relativeMountPath": "other",' "$snapshot"
    : >go
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat out)" = $'myshare\nmyshare' ]
}
