#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A cluster can load the plugin that `cmake --install` installs, with the plugstack.conf line installed beside it.
# minislurm: none

load lib

setup_file() {
    export root=$BATS_FILE_TMPDIR/root
    DESTDIR=$root cmake --install "$BATCHAI_BUILD" >"$BATS_FILE_TMPDIR/out"
    mkdir -p "$root/etc/batchai"
    {
        cat "$BATCHAI_SOURCE/etc/batchai.toml"
        printf '[[allow]]\ntype = "tmpfs"\n'
    } >"$root/etc/batchai/batchai.toml"
    chmod -R go+rX "$BATS_RUN_TMPDIR"
}

teardown() { :; } # each cluster ends with its command

# installed COMMAND...: on a two-node cluster of machines on which batchai is installed.
installed() {
    local line
    line=$(grep ^required "$root/usr/share/batchai/plugstack.conf.d/batchai.conf")
    # shellcheck disable=SC2016 # the inner shell's
    unshare --mount bash -c '
        for folder in usr etc; do
            mount -t overlay -o "lowerdir=$1/$folder:/$folder" overlay "/$folder" || exit
        done
        export PATH=/usr/bin:/bin:/usr/sbin:/sbin
        shift
        exec timeout 100 "$@"' - "$root" "$BATCHAI_SOURCE/contrib/minislurm" -n 2 -g 1 -p "$line" -- "$@"
}

@test "a cluster loads the installed plugin, and a job has its mounts" {
    need_root
    run -0 installed srun -N2 --batchai-mount=tmpfs:scratch sh -c 'findmnt -n -o FSTYPE "$AZ_BATCHAI_JOB_MOUNT_ROOT/scratch"'
    [ "$(grep -c '^tmpfs$' <<<"$output")" = 2 ]
}

@test "installed programs find each other, the library and the Python package" {
    need_root
    /usr/bin/python3 -c 'import torch' 2>/dev/null || skip "PyTorch is not installed"
    run installed salloc -Q -N2 batchai-launch /usr/bin/python3 -c \
        'import horovod.torch as hvd; hvd.init(); print("rank", hvd.rank(), "of", hvd.size())'
    [ "$status" -eq 0 ]
    [[ $output == *"rank 0 of 2"* && $output == *"rank 1 of 2"* ]]
    run installed sh -c 'batchai --version && sbatch --help | grep -c -- --batchai-'
    [ "${lines[-1]}" = 4 ]
}

# Every line of the output is ok, except the warnings that the cluster of these tests does not use cgroups and prologs.
in_order() {
    [ "$(grep -c '^ok ' <<<"$output")" -eq $((${#lines[@]} - 2)) ]
    [[ $output = *"warning  prolog     PrologFlags lacks Contain: "*"Set PrologFlags=Contain in slurm.conf"* ]]
    [[ $output = *"warning  processes  ProctrackType is proctrack/linuxproc: "*"Set proctrack/cgroup in slurm.conf"* ]]
}

@test "no program or library, built or installed, takes a library from the current directory" {
    local file files=("$BATCHAI_BUILD"/{bin/*,lib/*.so,lib/batchai/*.so} "$root"/usr/{bin/*,libexec/batchai/*}
        "$root"/usr/lib/*/{,batchai/,slurm*/}*.so)
    mkdir "$BATS_TEST_TMPDIR/here" && cd "$BATS_TEST_TMPDIR/here"
    for file in "${files[@]}"; do ldd "$file" | awk '$2 == "=>" { print $1 }'; done >../names
    sort -u ../names | xargs -t touch # empty files, which the loader refuses
    for file in "${files[@]}"; do
        run ldd "$file"
        [[ $status = 0 && $output != *"file too short"* ]] || { echo "$file: $output" && return 1; }
    done
}

@test "admin check finds an installation in order" {
    need_root
    run -0 installed batchai admin check
    in_order
    [[ $output = *"plugstack"*"/etc/plugstack.conf:1"*"/usr/libexec/batchai/batchai-helper"*"/etc/batchai/batchai.toml, SHA-256 $(sha256sum <"$root/etc/batchai/batchai.toml" | cut -c-64)"* ]]
}

@test "admin doctor makes the policy's mounts, starts ranks and finds nothing left" {
    need_root
    run -0 installed minislurm exec n1 batchai admin doctor
    in_order
    [[ $output = *"mount      allow, tmpfs"*"leftovers  none in /run/batchai/jobs"*"ranks      two start under PMIx servers"* ]]
}

@test "admin doctor does not warn of processes that outlive their jobs where Slurm keeps jobs in cgroups" {
    need_root
    # slurmctld, which doctor asks, is not the one to track processes.
    run installed sh -c '
        sed -i s,^ProctrackType=.*,ProctrackType=proctrack/cgroup, "$SLURM_CONF"
        echo PrologFlags=Alloc >>"$SLURM_CONF"
        scontrol shutdown slurmctld
        until slurmctld && sinfo; do sleep 0.1; done >/dev/null 2>&1
        batchai admin check'
    [[ $output = *"ok       processes  proctrack/cgroup"*"ok       prolog     PrologFlags="* ]]
    [[ $output != *warning* ]]
}

@test "admin doctor knows a running job, whatever its caller's environment tells squeue" {
    need_root
    # shellcheck disable=SC2016 # the inner shell's
    run installed sh -c '
        job=$(sbatch --parsable -w n1 --batchai-mount=tmpfs:scratch -D / -o /dev/null --wrap "sleep 100")
        until minislurm exec n1 test -e "/run/batchai/jobs/mini-$job"; do sleep 0.1; done
        export SQUEUE_STATES=PENDING SQUEUE_USERS=nobody SLURM_CLUSTERS=elsewhere
        minislurm exec n1 batchai admin doctor || exit
        env -u SLURM_CLUSTERS scontrol shutdown slurmctld
        minislurm exec n1 batchai admin doctor --plugstack "${SLURM_CONF%/*}/plugstack.conf"'
    [ "$status" -eq 0 ]
    [[ $output = *"ok       leftovers  none in /run/batchai/jobs"* ]]
    [[ $output = *"warning  leftovers  whether job "*" still runs is unknown: squeue: "* ]]
    [[ $output != *"is over"* && $output != *teardown* ]]
}

@test "admin doctor names the policy's paths that a job could not use" {
    need_root
    sed -e 's|^mount_root = .*|mount_root = "/tmp/mnt"|' -e 's|^job_temp = .*|job_temp = "/nonexistent/scratch"|' \
        "$BATCHAI_SOURCE/etc/batchai.toml" >"$root/etc/batchai/paths.toml"
    run installed minislurm exec n1 sh -c '
        mount --bind /etc/batchai/paths.toml /etc/batchai/batchai.toml; batchai admin doctor'
    [ "$status" -eq 1 ]
    [[ $output = *"error    mount      job temp /nonexistent/scratch: as nobody: No such file or directory"* ]]
    [[ $output = *"error    mount      mount root /tmp/mnt: site policy: paths.mount_root: /tmp: others can write to it"* ]]
}

@test "admin doctor names a mount that cannot be made and a job's leftovers" {
    need_root
    printf '[[allow]]\ntype = "bind"\nsource = "/nowhere"\n' >>"$root/etc/batchai/batchai.toml"
    run -1 installed minislurm exec n1 sh -c 'mkdir -p /run/batchai/jobs/mini-4711; batchai admin doctor'
    [[ $output = *"error    mount      allow, bind /nowhere: /nowhere: No such file or directory"* ]]
    [[ $output = *"error    leftovers  job mini-4711 is over and has left /run/batchai/jobs/mini-4711: restart slurmd"* ]]
}

@test "man pages, completion and pkg-config file are installed" {
    local page
    for page in man1/batchai.1 man1/batchai-launch.1 man5/batchai.toml.5 man8/spank_batchai.8; do
        [ -s "$root/usr/share/man/$page" ]
    done
    [ -s "$root/usr/share/bash-completion/completions/batchai" ]
    [ -s "$root/usr/share/bash-completion/completions/batchai-launch" ]
    grep -qx 'prefix=/usr' "$(find "$root" -name batchai-collectives.pc)"
}

@test "the module file puts commands, manuals and library where they are found" {
    # shellcheck source=/dev/null
    source /usr/share/modules/init/bash 2>/dev/null || skip "environment-modules is not installed"
    cd "$BATS_TEST_TMPDIR"
    mkdir -p modules/batchai
    cp "$root/usr/share/batchai/modulefile" modules/batchai/1
    MODULEPATH=$PWD/modules module show batchai 2>&1 | tee shown
    grep -q 'prepend-path.*PATH /usr/bin$' shown
    grep -q 'prepend-path.*MANPATH /usr/share/man$' shown
    [ -d "$(sed -n 's/^prepend-path[^/]*PKG_CONFIG_PATH //p' shown | sed "s|^|$root|")" ]
}

# offered SHELL LINE: the words that a shell with the installed completion offers at the end of the line.
offered() {
    case $1 in
        zsh) timeout 60 /usr/bin/python3 "$BATCHAI_SOURCE/tests/cluster/completed_by_zsh.py" "$root/usr/share/zsh" "$2" ;;
        fish) timeout 60 fish --no-config --command "for file in $root/usr/share/fish/vendor_completions.d/*; source \$file; end; complete --do-complete '$2'" ;;
    esac
}

@test "zsh and fish offer verbs, options and values as bash does" {
    local shell tried=
    export PATH=$root/usr/bin:$PATH
    for shell in zsh fish; do
        command -v $shell || continue
        tried=yes
        offered $shell "batchai job che" | grep -x check
        offered $shell "batchai job create --dry" | grep -x -e --dry-run
        offered $shell "batchai-launch --map c" | grep -x cyclic
    done
    [ "$tried" ] || skip "neither zsh nor fish is installed"
}

@test "another prefix than the configured one is refused with what to do" {
    run ! env DESTDIR="$BATS_TEST_TMPDIR" cmake --install "$BATCHAI_BUILD" --prefix /elsewhere
    [[ $output == *"configure it with"*"-DCMAKE_INSTALL_PREFIX=/elsewhere"* ]]
}

@test "the plugin's package is not removed beside a job that has mounts, or that has asked for them" {
    need_root
    for note in jobs/mini-7 asked/mini-7; do
        # shellcheck disable=SC2016 # the inner shell's
        run unshare --mount sh -c 'mount -t tmpfs tmpfs /run && mkdir -p "/run/batchai/$0" && exec sh -s remove' "$note" \
            <"$BATCHAI_SOURCE/cmake/packages/prerm.in"
        [ "$status" = 1 ]
        [[ $output == "batchai-slurm-plugin: /run/batchai names jobs that have mounts here or may get them: mini-7: drain the node "* ]]
    done
}
