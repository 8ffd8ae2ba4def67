#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The command lines of container runtimes that cannot be installed here: a stub takes the runtime's place and refuses what
# the runtime would refuse.
# minislurm: -n 2 -g 1
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # share is set by plugin.bash, state and files by containers.bash

load containers

# `enroot start` of Enroot 4: the options that batchai.toml(5) uses, and the named variables only, a line of each.
make_enroot() {
    cat >"$MINISLURM_DIR/enroot" <<'SH'
#!/bin/bash
line=$(printf '[%s]' "${@//--env=*/}")
printf '%s\n' "${line//\[\]/}" >>"${0%/*}/enroot.log"
[ "$1" = start ] || exit 64
shift
named=()
while [[ $1 = -* ]]; do
    case $1 in
        --mount=*:* | --rw) ;;
        --env=*)
            name=${1#--env=}
            [[ $name =~ ^[[:alpha:]_][[:alnum:]_]*$ ]] || exit 65
            value=${!name}
            named+=("$name=${value%%$'\n'*}")
            ;;
        *) exit 64 ;;
    esac
    shift
done
shift # the image
cd / && exec env -i "${named[@]}" "$@"
SH
    chmod 755 "$MINISLURM_DIR/enroot"
}

setup_file() {
    make_site
    make_enroot
    cat >>"$BATCHAI_POLICY" <<TOML
[container.enroot]
command = ["$MINISLURM_DIR/enroot", "start", "--env={env}", "--mount={job_temp}:{job_temp}", "--mount={mount_root}:{mount_root}",
           "--rw", "{image}", "/bin/sh", "-c", 'cd "\$0" && exec "\$@"', "{directory}"]
[[image]]
name = "nvcr.io/*"
run_on = "enroot"
image = "nvidia+pytorch"
TOML
    make_facts
}

@test "Enroot gets every variable of preparation and ranks by its name, and their places on its command line" {
    export COLOUR='dark blue'
    rm -f "$MINISLURM_DIR/enroot.log"
    install -m 666 /dev/null "$MINISLURM_DIR/enroot.log"
    container_job nvcr.io/nvidia/pytorch:18.06 2 customMpi "echo \$RANK \$WORLD_SIZE \$COLOUR \$PWD" \
        'set -e\necho \"$AZ_BATCHAI_NUM_GPUS $COLOUR $PWD ${BATCHAI_PREPARATION-}\"\nx='\''it is\\n '\'' # two lines\necho \"$x.\"'
    run_job --gres=gpu:1
    [ "$state" = COMPLETED ]
    wd=/run/batchai/mnt/.temp/wd
    for node in n1 n2; do
        [ "$(cat "$files/stdout-job_prep-$node.txt")" = "1 dark blue $wd "$'\n''it is\n .' ]
    done
    [ "$(sort "$files/stdout.txt")" = "0 2 dark blue $wd"$'\n'"1 2 dark blue $wd" ]
    line="[start][--mount=/tmp:/tmp][--mount=/run/batchai/mnt:/run/batchai/mnt][--rw][nvidia+pytorch]"
    line+="[/bin/sh][-c][cd \"\$0\" && exec \"\$@\"][$wd][/bin/bash][-c]"
    [ "$(wc -l <"$MINISLURM_DIR/enroot.log")" = 4 ]
    [ "$(grep -cF "${line}[eval \"unset BATCHAI_PREPARATION; " "$MINISLURM_DIR/enroot.log")" = 2 ]
    [ "$(grep -cxF "${line}[echo \$RANK \$WORLD_SIZE \$COLOUR \$PWD]" "$MINISLURM_DIR/enroot.log")" = 2 ]
}
