# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # images is set in fuse.bash, work in plugin.bash
#
# A FUSE program whose configuration is the user's and names commands: a shell that runs the user's text.

load fuse

# alice's image, whose program runs her file "commands" before it mounts.
# shellcheck disable=SC2034 # for the tests
image=own=$images/data.sqsh

# Its entry of the policy.
commands_entry() {
    cat <<TOML
[program.own]
command = ["/bin/sh", "{credentials}", "{source}", "{target}"]
[[allow]]
type = "fuse"
program = "own"
source = "$images"
credentials = "user:commands"
TOML
}

# own_commands LINE...: alice's configuration. The lines run in $work, then her image is mounted.
own_commands() {
    local directory
    directory=$(alice_home)/.config/batchai/credentials
    as_alice mkdir -p "$directory"
    (umask 077 && printf '%s\n' "cd $work" "$@" "exec /usr/bin/squashfuse -f \"\$1\" \"\$2\"" >"$directory/commands")
    chown alice "$directory/commands"
}

# assert_memory_is_the_jobs: a command of the user's that takes more memory than its job is killed.
assert_memory_is_the_jobs() {
    own_commands '(head -c 300M /dev/zero | tail -c 299M >/dev/null; echo "${?}" >eaten) &'
    submit_alice -N 1 --mem=128M -o out --batchai-mount="$image:data" --wrap 'while [ ! -e eaten ]; do sleep 0.1; done'
    wait_job "$job"
    [ "$(cat eaten)" = 137 ]
}
