#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Files of the admin that root reads: root refuses a file that a user could exchange.
# minislurm: -n 1
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # open, secret and work are set by plugin.bash; status, output and lines by run

load plugin

policy=$MINISLURM_DIR/batchai.toml
site=$MINISLURM_DIR/site # a directory that the policy's path leads to
others=": others can write to it: chmod go-w, or use another directory"
file_others=": others can write to it: chmod go-w"
owner=": belongs to another user than root: chown root"

setup_file() {
    [ "$(id -u)" = 0 ] || return 0 # every test is skipped
    make_site
    mkdir -p "$site/credentials"
    mv "$policy" "$site/batchai.toml"
    echo secret >"$site/credentials/key"
    cp /bin/true "$site/program"
    chmod 600 "$site/credentials/key"
    cat >>"$site/batchai.toml" <<TOML
[paths]
credentials = "$MINISLURM_DIR/store"
[program.server]
command = ["$site/program", "{credentials}"]
[[allow]]
name = "stored"
type = "fuse"
program = "server"
source = "x"
credentials = "store:key"
TOML
    ln -s site/credentials "$MINISLURM_DIR/store"
}

setup() {
    need_root
    enter_work
    ln -s "$site/batchai.toml" "$policy"
}

teardown() {
    [ -z "${BATS_TEST_SKIPPED-}" ] || return 0
    rm -f "$policy"
    chown -R root "$site" && chmod 755 "$site" "$site/credentials" "$site/program"
    rm -rf "${open:?}"/*
    cd /
    forget_outputs
    assert_clean
}

# says CHECK MESSAGE: admin check, run by any user, and doctor find it.
says() {
    local command
    for command in "batchai admin check" "as_alice batchai admin check" "on_node n1 batchai admin doctor"; do
        run -1 $command
        grep -F "error    $(printf %-10s "$1") $2" <<<"$output" || {
            echo "$command: no '$2' in $output"
            return 1
        }
    done
}

# fails_with MESSAGE SRUN_OPTION...: the job's command does not run, and the plugin says that one line.
fails_with() {
    run ! as_alice srun -Q "${@:2}" touch ran
    [ ! -e ran ]
    [ "$(grep -v '^srun: error: n1: task 0: Exited with exit code 1$' <<<"$output")" = "batchai: n1: $1" ] || {
        echo "$output"
        return 1
    }
}

# not_in_force MESSAGE: jobs fail with that line about the policy.
not_in_force() {
    fails_with "site policy: $1" --batchai-mount="$open:x"
    says policy "$1"
    [[ $(on_node n1 batchai admin doctor) == *"error    mount      batchai-helper: site policy: $1"* ]]
}

@test "a policy in a directory that others can write to is not in force, with a sticky bit neither" {
    for mode in 777 1777 775; do
        chmod "$mode" "$site"
        not_in_force "$site$others"
    done
    # The directory above: a user who can write there could replace this one.
    chmod 755 "$site"
    mkdir -m 1777 "$open/above"
    mkdir "$open/above/site"
    cp "$site/batchai.toml" "$open/above/site"
    ln -sfn "$open/above/site/batchai.toml" "$policy"
    not_in_force "$open$others"
}

@test "a policy in a user's directory, or behind a link of a user's, is not in force" {
    chown alice "$site"
    not_in_force "$site$owner"
    chown root "$site"
    chown alice "$site/batchai.toml"
    not_in_force "$site/batchai.toml$owner"
    chown root "$site/batchai.toml"
    chown -h alice "$policy"
    not_in_force "$policy$owner"
    # Root's link leads into a directory that has a link of alice's as the next component.
    as_alice ln -s "$site/batchai.toml" "$open/link"
    ln -sfn "$open/link" "$policy"
    not_in_force "$open$others"
}

@test "another policy that a user has put in the place of the site's is never in force" {
    chmod 777 "$site"
    mv "$site/batchai.toml" "$site/sites.toml"
    printf '[[allow]]\ntype = "bind"\nsource = "%s"\n' "$secret" >"$MINISLURM_DIR/generous.toml" # root's own, of a test perhaps
    for place in "cp" "ln -s"; do
        # shellcheck disable=SC2086 # words
        as_alice $place "$MINISLURM_DIR/generous.toml" "$site/batchai.toml"
        run as_alice srun -Q --batchai-mount="$secret:x" cat /run/batchai/mnt/x/file
        as_alice rm "$site/batchai.toml"
        [ "$status" != 0 ]
        [[ $output == *"batchai: n1: site policy: $site$others"* ]]
    done
    mv "$site/sites.toml" "$site/batchai.toml"
    rm "$MINISLURM_DIR/generous.toml"
}

@test "a policy behind links that only root can change is in force" {
    run as_alice srun -Q --batchai-mount="$open:x" ls /run/batchai/mnt
    [ "$output" = x ]
    ln -s site "$MINISLURM_DIR/shared"
    ln -sfn shared/../shared/batchai.toml "$policy"
    run as_alice srun -Q --batchai-mount="$open:x" ls /run/batchai/mnt
    [ "$output" = x ]
    run batchai admin check
    rm "$MINISLURM_DIR/shared"
    [[ $output == *"ok       policy     $policy, SHA-256 "* && $output != *"error    policy"* ]]
}

# no_credentials MESSAGE: jobs that need the site's credentials fail with that line.
no_credentials() { fails_with "mounting fuse server x at x: site policy: $1" --batchai-mount=volume=stored:x; }

@test "credentials in a directory that a user could change are not read" {
    for mode in 777 1777; do
        chmod "$mode" "$site/credentials"
        no_credentials "credentials: $site/credentials$others"
        says credentials "$site/credentials$others"
    done
    chmod 755 "$site/credentials"
    chown alice "$site/credentials"
    no_credentials "credentials: $site/credentials$owner"
    says credentials "$site/credentials$owner"
    chown root "$site/credentials"
    chown -h alice "$MINISLURM_DIR/store"
    no_credentials "credentials: $MINISLURM_DIR/store$owner"
    says credentials "$MINISLURM_DIR/store$owner"
    chown -h root "$MINISLURM_DIR/store"
    # With the right owners they are read, through the site's link. The program serves no file system.
    run as_alice srun -Q --batchai-mount=volume=stored:x touch ran
    [[ $output == *"batchai: n1: mounting fuse server x at x: "* && $output != *"site policy"* ]]
    run batchai admin check
    [[ $output == *"ok       credentials $MINISLURM_DIR/store/key"* ]]
}

@test "credentials of the store are not given to a program that a user could change" {
    for mode in 757 775; do
        chmod "$mode" "$site/program"
        no_credentials "program server, which gets credentials of the store: $site/program$file_others"
        says program "$site/program$file_others"
    done
    chmod 755 "$site/program"
    chown alice "$site/program"
    no_credentials "program server, which gets credentials of the store: $site/program$owner"
}
