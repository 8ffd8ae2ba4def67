#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# admin doctor --nodes asks nodes through Slurm; what the plugin and a job say themselves about such set-ups.
# minislurm: -n 3 -s PrologFlags=Contain
# plugin: policy=/run/minislurm/policy/batchai.toml polcy=mistyped
# needs: root

load plugin

setup_file() {
    make_site
    mkdir "$MINISLURM_DIR/policy"
    cp "$MINISLURM_DIR/batchai.toml" "$MINISLURM_DIR/policy"
}

# doctor NODES [ARGUMENT]...: as root on the login node.
doctor() { timeout 120 batchai admin doctor --nodes "$@"; }

# the_table NODES: what is not ok, and not a matter of every node here: the checkout may be a user's, and Slurm has no cgroups.
the_table() { doctor "$@" | grep -v -e '^ok ' -e ' processes ' -e "'polcy=mistyped'" -e ' is not a directory here' -e ': belongs to another user than root' -e 'others can write to it'; }

@test "the doctor asks all nodes, and an equal finding is one line" {
    run doctor 'n[1-3]' --home "$MINISLURM_DIR/home/alice"
    echo "$output"
    [ "$status" -eq 1 ] # for the word in the plugin's line
    [ "$(grep -c "^error    plugstack  n\[1-3\]: .*/plugstack.conf:1: 'polcy=mistyped': the plugin does not know this word" <<<"$output")" = 1 ]
    [ "$(grep -c '^ok       ranks      n\[1-3\]: two start under PMIx servers$' <<<"$output")" = 1 ]
    [ "$(grep -c "^ok       homes      n\[1-3\]: " <<<"$output")" = 1 ]
    [ "$(grep -c '^ok       leftovers  n\[1-3\]: none' <<<"$output")" = 1 ]
    # Nothing else differs between them.
    run grep -v ' n\[1-3\]: ' <<<"$output"
    [ -z "$output" ]
}

@test "the doctor says which of the nodes has another policy, and which lacks a directory of it" {
    mkdir "$MINISLURM_DIR/other"
    on_node n2 sh -c "cat $MINISLURM_DIR/policy/batchai.toml >$MINISLURM_DIR/other/batchai.toml; echo '# other' >>$MINISLURM_DIR/other/batchai.toml
        mount --bind $MINISLURM_DIR/other $MINISLURM_DIR/policy; mount -t tmpfs -o mode=700 tmpfs $open"
    run the_table 'n[1-3]'
    on_node n2 umount "$MINISLURM_DIR/policy" "$open"
    echo "$output"
    [ "${#lines[@]}" = 2 ]
    [[ $output = *"error    policy     n2: differs from the policy of most machines: jobs would run differently. Copy one policy to all of them"* ]]
    [[ $output = *"error    mount      n2: allow, bind $open: $open: users cannot read it, its mode is 0700: chmod o+rx"* ]]
}

@test "a node that is down, one without batchai and one that does not exist are errors, and the others are asked" {
    scontrol update NodeName=n3 State=DRAIN Reason=test
    on_node n2 mount -t tmpfs tmpfs "$BATCHAI_BUILD/bin"
    run the_table 'n[1-4]'
    on_node n2 umount "$BATCHAI_BUILD/bin"
    scontrol update NodeName=n3 State=RESUME
    eventually node_is_up n3 # "idle*" before it has answered slurmctld
    echo "$output"
    [[ $output = *"error    node       n2: the doctor returned no answer there: execve(): $BATCHAI_BUILD/bin/batchai: No such file or directory"* ]]
    [[ $output = *"error    node       n3: is not asked, Slurm says drained: see 'scontrol show node'"* ]]
    [[ $output = *"error    node       n4: is in no partition of Slurm. Correct the list"* ]]
    [ "${#lines[@]}" = 3 ]
}

is_allocated() { [ "$(sinfo -h -n "$1" -o %T)" = allocated ]; }

@test "a node whose cores all have jobs is a warning, and is not waited for" {
    sbatch --exclusive -w n2 -D / -o /dev/null -J busy --wrap 'sleep 300'
    eventually is_allocated n2
    run the_table 'n[2-3]'
    scancel -n busy
    echo "$output"
    [ "$output" = "warning  node       n2: is not asked, jobs have all of its cores: ask it again later" ]
}

@test "the doctor's JSON has a row for each node and finding" {
    run -1 --separate-stderr doctor n1,n3 --json
    [ "$(jq -r '.[].node' <<<"$output" | sort -u | paste -sd ' ')" = "n1 n3" ]
    [ "$(jq -r '.[] | select(.check == "ranks") | .node + " " + .state' <<<"$output" | paste -sd ' ')" = "n1 ok n3 ok" ]
}

@test "without Slurm's commands no node is asked, and a list that is none is refused" {
    # shellcheck disable=SC2016 # the shell inside expands it
    run -3 unshare --mount bash -c 'mount --bind /dev/null "$0" && exec "$@"' "$(type -P sinfo)" batchai admin doctor --nodes n1
    [[ $output = "batchai: sinfo: not on the PATH, and not in "*": load Slurm's module, or install its client commands" ]]
    run -2 doctor ''
    [[ ${lines[-1]} = "batchai: --nodes '': "* ]]
}

is_gone() { ! kill -0 "$1" 2>/dev/null; }

@test "a doctor that is killed ends the processes that it has started" {
    mkdir "$BATS_TEST_TMPDIR/mine"
    printf '#!/bin/sh\necho $$ >%s/pid\nexec sleep 60\n' "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/mine/srun"
    chmod 755 "$BATS_TEST_TMPDIR/mine/srun"
    PATH=$BATS_TEST_TMPDIR/mine:$PATH timeout 60 batchai admin doctor --nodes n1 3>&- &
    local doctor=$!
    eventually test -s "$BATS_TEST_TMPDIR/pid"
    kill "$doctor"
    eventually is_gone "$(<"$BATS_TEST_TMPDIR/pid")"
    wait "$doctor" || true
}

@test "a job whose nodes lack its user's home says that homes must be shared" {
    enter_work
    write_job job.json 2
    on_node n2 mount -t tmpfs tmpfs "$MINISLURM_DIR/home/alice"
    run the_table 'n[1-2]' --home "$MINISLURM_DIR/home/alice"
    [[ $output = "error    homes      n2: $MINISLURM_DIR/home/alice: is not the directory of the machine that runs the doctor: jobs keep their record there (~/.local/share/batchai). Mount the users' home directories on login and compute nodes, with file locks" ]]
    run as_alice sbatch -W -w n1,n2 -N 2 -o out --batchai-job=job.json --wrap 'touch started'
    on_node n2 umount "$MINISLURM_DIR/home/alice"
    cat out
    [ "$status" -eq 1 ]
    [ ! -e started ]
    [ "$(grep -c '^batchai: n2: .*/job.json: the job.s record is not on this node: login and compute nodes must share home directories$' out)" = 1 ]
}

@test "slurmd's log names a word of the plugin's line that it does not know" {
    [ "$(grep -h "batchai: plugstack.conf: 'polcy=mistyped' is ignored: the plugin knows policy=FILE, libexec=DIRECTORY and counters=DIRECTORY" "$MINISLURM_DIR"/log/slurmd-*.log | wc -l)" = 3 ]
}

@test "the doctor finds that Slurm does not load a plugin of another release" {
    command -v gcc >/dev/null || skip "gcc is not installed"
    local old=$MINISLURM_DIR/old
    mkdir "$old"
    # As a plugin of an older Slurm is to this one.
    printf '%s\n' 'const char plugin_name[] = "batchai", plugin_type[] = "spank";' 'const unsigned plugin_version = 0x140b09, spank_plugin_version = 1;' \
        'const char plugin_built_for[] = "@(#)batchai plugin any for Slurm 20.11.9";' >"$old/plugin.c"
    gcc -shared -fPIC -o "$old/spank_batchai.so" "$old/plugin.c"
    on_node n1 sh -c "sed 's,^required [^ ]*,required $old/spank_batchai.so,' $MINISLURM_DIR/etc/plugstack.conf >$old/plugstack.conf
        mount --bind $old/plugstack.conf $MINISLURM_DIR/etc/plugstack.conf
        exec $(command -v batchai) admin doctor" >"$BATS_TEST_TMPDIR/out" 2>&1 || true
    on_node n1 umount "$MINISLURM_DIR/etc/plugstack.conf"
    cat "$BATS_TEST_TMPDIR/out"
    grep -q "^error    plugin     $old/spank_batchai.so: was built for Slurm 20.11.9, and this is .*: every srun, sbatch and slurmd refuses it. " "$BATS_TEST_TMPDIR/out"
    grep -q "^error    options    srun does not load the plugin: .*Incompatible Slurm plugin" "$BATS_TEST_TMPDIR/out"
}
