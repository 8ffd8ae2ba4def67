#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Slurm in other places than those of the build's machine: its programs in /opt/slurm, its configuration with slurmctld.
# minislurm: none
# needs: root

load lib

setup() { cd "$BATS_TEST_TMPDIR" && mkdir daemons; }
teardown() { :; }

# hide DIRECTORY NAME...: a copy of this machine's directory without these files, in this namespace.
hide() {
    local name hole=$PWD/hidden$1
    mkdir -p "$hole"
    for name in "${@:2}"; do [ -e "$hole/$name" ] || mknod "$hole/$name" c 0 0; done
    mount -t overlay -o "lowerdir=$hole:$1" overlay "$1"
}

# move_slurm: in this namespace Slurm's programs are in /opt/slurm, and no others of them are there.
move_slurm() {
    local commands=(sbatch scancel scontrol sinfo squeue srun) daemons=(slurmctld slurmd slurmstepd)
    mkdir -p opt/slurm/{bin,sbin}
    cp -L "${commands[@]/#//usr/bin/}" opt/slurm/bin
    cp -L "${daemons[@]/#//usr/sbin/}" opt/slurm/sbin
    mount -t overlay -o "lowerdir=$PWD/opt:/opt" overlay /opt
    hide /usr/bin "${commands[@]}"
    hide /usr/sbin "${daemons[@]}" "${daemons[@]/%/-wlm}" # as Debian calls them
    export PATH=$PWD/daemons:/opt/slurm/bin:/opt/slurm/sbin:$PATH
    # slurmd looks for slurmstepd in the prefix for which it was built.
    printf '#!/bin/sh\nexec /opt/slurm/sbin/slurmd -d /opt/slurm/sbin/slurmstepd "$@"\n' >daemons/slurmd
}

# in_cluster [MINISLURM_OPTION]... -- FUNCTION: calls it on the login node of two nodes. Those start daemons/slurmd.
in_cluster() { minislurm -n 2 "${@:1:$#-2}" -- bash -c 'set -euo pipefail; "$1"' - "${!#}"; }

# alone FUNCTION: calls it in a mount namespace of its own.
alone() {
    export -f eventually sbatch scontrol hide move_slurm in_cluster write_policy job
    export -f in_opt opt_ranks ranks_after_preparation opt_path without_the_path opt_without_srun without_srun
    export -f configless enable_by_slurmctld
    timeout 100 unshare --mount bash -c 'set -euo pipefail; export PATH=$PWD/daemons:$PATH; "$1"' - "$1"
}

line="required $BATCHAI_BUILD/lib/spank_batchai.so libexec=$BATCHAI_BUILD/bin policy=/run/minislurm/batchai.toml"
export line deadline poll

write_policy() { printf '[[allow]]\ntype = "tmpfs"\n' >"$MINISLURM_DIR/batchai.toml"; }

# job [SBATCH_OPTION]... COMMAND: runs it on both nodes, and prints what it has printed; "failed" where it has failed.
job() {
    sbatch -W -N 2 -o job.out "${@:1:$#-1}" --wrap "${!#}" >/dev/null || echo failed
    cat job.out
}

# ---- /opt/slurm ------------------------------------------------------------------------------------

in_opt() { move_slurm && chmod 755 daemons/slurmd && in_cluster -p "$line" -- "$1"; }

ranks_after_preparation() {
    write_policy
    job --batchai-mount=tmpfs:scratch --batchai-prep='echo prepared >"$AZ_BATCHAI_JOB_MOUNT_ROOT/scratch/note"' \
        'batchai-launch -n 2 sh -c "cat \$AZ_BATCHAI_JOB_MOUNT_ROOT/scratch/note; readlink -f /proc/\$PPID/exe"'
}
opt_ranks() { in_opt ranks_after_preparation; }

@test "with Slurm in /opt/slurm ranks start and all nodes are prepared" {
    run alone opt_ranks
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -cx prepared <<<"$output")" = 2 ]
    [ "$(grep -cx "$BATCHAI_BUILD/bin/batchai-launch" <<<"$output")" = 2 ]
}

without_the_path() {
    write_policy
    # The plugin asks for no PATH: it prepares both nodes.
    job --export=PATH=/usr/bin:/bin --batchai-prep='touch "prepared.$SLURMD_NODENAME"' "$BATCHAI_BUILD/bin/batchai-launch hostname"
    ls prepared.*
}
opt_path() { in_opt without_the_path; }

@test "a job without Slurm's commands on its PATH is prepared, and batchai-launch says which one it lacks" {
    run alone opt_path
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c ^prepared <<<"$output")" = 2 ]
    grep -x "batchai-launch: srun: not on the PATH, and not in /usr/bin: load Slurm's module, or install its client commands" <<<"$output"
    grep -x failed <<<"$output"
}

without_srun() {
    write_policy
    minislurm exec n1 mount --bind /dev/null /opt/slurm/bin/srun
    job --batchai-prep=true true
}
opt_without_srun() { in_opt without_srun; }

@test "a node without srun is named where the plugin must prepare all nodes" {
    run alone opt_without_srun
    echo "$output"
    grep -x "batchai: n1: cannot run /usr/bin/srun, and slurmd's prefix has no bin/srun: install Slurm's client commands on this node" <<<"$output"
    grep -x failed <<<"$output"
}

# ---- configless ------------------------------------------------------------------------------------

configless() {
    cat >daemons/slurmd <<'SH'
#!/bin/sh
mount -t tmpfs -o mode=755 tmpfs "$MINISLURM_DIR/etc" || exit
unset SLURM_CONF
exec /usr/sbin/slurmd --conf-server ctl:6817 "$@"
SH
    chmod 755 daemons/slurmd
    in_cluster -s SlurmctldParameters=enable_configless -- enable_by_slurmctld
}

enable_by_slurmctld() {
    local node
    write_policy
    echo "$line" >>"$MINISLURM_DIR/etc/plugstack.conf"
    scontrol reconfigure
    for node in n1 n2; do
        minislurm exec "$node" test ! -e "$MINISLURM_DIR/etc/slurm.conf"
        eventually minislurm exec "$node" grep -q ^required /run/slurm/conf/plugstack.conf
    done
    ranks_after_preparation
    minislurm exec n1 env -u SLURM_CONF "$BATCHAI_BUILD/bin/batchai" admin check || true # the build's files may be a user's
}

@test "nodes without a configuration have the plugin after 'scontrol reconfigure', and the doctor finds its line" {
    run alone configless
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -cx prepared <<<"$output")" = 2 ]
    [ "$(grep -cx "$BATCHAI_BUILD/bin/batchai-launch" <<<"$output")" = 2 ]
    grep -x 'ok       plugstack  /run/slurm/conf/plugstack.conf:[0-9]*' <<<"$output"
}
