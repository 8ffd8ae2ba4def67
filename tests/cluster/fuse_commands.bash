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
