#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Jobs of several users write their output to one share.
# minislurm: -n 2
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # status, output and lines are set by run

load cli

setup() {
    [ -x "$BATCHAI_BUILD/bin/batchai" ] || skip "batchai is not built"
    need_root
    enter_work
    write_command job.json 1 'id -un'
    levels=(out out/slurm out/slurm/batchai.horovod out/slurm/batchai.horovod/workspaces)
}

teardown() {
    rm -rf "$MINISLURM_DIR/home/bob/.local"
    cd /
    [ -z "${work-}" ] || forget_outputs
    setfacl -b -k "$share" 2>/dev/null || true
    chown root:root "$share"
    chmod 00777 "$share"
    assert_clean
}

# create USER UMASK: a job of the user's, submitted with that umask.
create() {
    as_user "$1" bash -c 'umask "$1"; shift; exec batchai job create "$@"' - "$2" "${scope[@]}" -n shared -f job.json \
        --storage-account-name a
}
# runs_as USER UMASK: it runs to its end.
runs_as() {
    create "$1" "$2" >said
    as_user "$1" batchai job wait "${scope[@]}" -n shared
    [ "$(as_user "$1" batchai job file stream "${scope[@]}" -j shared -f stdout.txt)" = "$1" ]
}
own() { find "$share/out" -user "$1" -type d -name stdouterr -printf '%h\n'; }
modes() { (cd "$share" && stat -c %a "$@" | sort -u); }

@test "the first user of a sticky share does not lock the next one out, whatever the umask" {
    chmod 1777 "$share"
    runs_as alice 077
    [ "$(modes "${levels[@]}" out/slurm/batchai.horovod/workspaces/*/experiments/*/jobs/shared)" = 1777 ]
    runs_as bob 022
    # The job's own directories are the users', with their umasks.
    [ "$(stat -c %a "$(own alice)" "$(own alice)/stdouterr" | sort -u)" = 700 ]
    [ "$(stat -c %a "$(own bob)" "$(own bob)/stdouterr" | sort -u)" = 755 ]
}

@test "the first user of a group's share does not lock the group out" {
    chgrp alice "$share"
    chmod 2775 "$share"
    setfacl -m u:bob:rwx,d:u::rwx,d:u:bob:rwx,d:g::rwx,d:m::rwx,d:o::rx "$share" 2>/dev/null || skip "needs setfacl, and a file system with ACLs"
    runs_as alice 077
    runs_as bob 002
    [ "$(modes "${levels[@]}")" = 2775 ]
}

@test "the next job of the same user in a share of its own does not open it to others" {
    chown alice "$share"
    chmod 00755 "$share"
    runs_as alice 027
    [ "$(modes "${levels[@]}")" = 750 ]
}

@test "a job is not submitted where another user's directory is in its way, which is named with its owner" {
    chmod 1777 "$share"
    as_alice mkdir -p "$share/out/slurm/batchai.horovod"
    before=$(scontrol show job -o | grep -c '^JobId' || true)
    line="out/slurm/batchai.horovod: belongs to alice, and you may not make directories in it: ask alice to run 'chmod --reference=$share"
    for how in 'batchai job create -f job.json -n shared --storage-account-name a' 'batchai job run --local -f job.json -n shared --storage-account-name a'; do
        code=0
        # shellcheck disable=SC2086
        as_user bob $how "${scope[@]}" >said 2>&1 || code=$?
        cat said
        [ "$code" = 2 ]
        [[ $(one_line said) = *"stdOutErrPathPrefix: $share/$line $share/out $share/out/slurm $share/out/slurm/batchai.horovod'" ]]
    done
    sed -i 's/<AZURE_BATCHAI_STORAGE_ACCOUNT>/a/' job.json
    run -1 as_user bob sbatch --batchai-job=job.json --wrap true
    [[ $output = *"$share/out/slurm: belongs to alice, and you may not make directories in it: "* ]]
    jq '.properties.stdOutErrPathPrefix += "/slurm"' job.json >below.json
    run -2 as_user bob batchai job check below.json
    [[ $output = *"$share/out/slurm: belongs to alice, and you may not make directories in it: "* ]]
    [ "$(scontrol show job -o | grep -c '^JobId' || true)" = "$before" ]
    # What alice was asked to run is enough.
    as_alice chmod --reference="$share" "$share/out" "$share/out/slurm" "$share/out/slurm/batchai.horovod"
    runs_as bob 022
}

@test "a share that the login node does not see does not fail without the directory and its owner" {
    sed -i '/^login_path/d' "$BATCHAI_POLICY"
    chmod 1777 "$share"
    as_alice mkdir -p "$share/out"
    sed -i 's/<AZURE_BATCHAI_STORAGE_ACCOUNT>/a/' job.json
    submit_as bob --batchai-job=job.json -o slurm.out --wrap 'touch started'
    [ "$(wait_job "$job")" = FAILED ]
    [ ! -e started ]
    grep -q "batchai: n1: output directory: .*/myshare/out: belongs to alice, and you may not make directories in it: ask alice" slurm.out
    echo "login_path = \"$share\"" >line
    sed -i "/^source = \"${share//\//\\/}\"/r line" "$BATCHAI_POLICY"
}

@test "users of a share without Slurm do not lock each other out, in a group without the setgid bit either" {
    chgrp 3000 "$share"
    chmod 00775 "$share" # 775 would keep the bit that the test before has set
    sed -i 's/<AZURE_BATCHAI_STORAGE_ACCOUNT>/a/' job.json
    for user in alice bob; do
        (cd /run && timeout 60 setpriv --reuid $user --regid $user --groups 3000 env HOME="$MINISLURM_DIR/home/$user" \
            bash -c 'umask 077; exec batchai job run --local 1 "$@"' - -f "$work/job.json" -n mine "${scope[@]}")
        [ "$(cat "$(own $user)/stdouterr/stdout.txt")" = $user ]
    done
    [ "$(modes "${levels[@]}")" = 775 ]
    [ "$(cd "$share" && stat -c %g "${levels[@]}" | sort -u)" = 3000 ]
}
