#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The commands of the admin's pages print what the pages show (tests/README.md), and what the admin guide says of failures.
# minislurm: -n 2 -s PrologFlags=Contain
# needs: root fuse clients
# plugin: policy=/run/minislurm/batchai.toml counters=/run/metrics
#
# shellcheck disable=SC2154 # served is set by fuse.bash, job by submit_alice

load fuse

cluster=$MINISLURM_DIR/cluster # /cluster of the pages

setup_file() {
    [ "$(id -u)" = 0 ] || return 0
    local node
    mkdir /run/metrics
    for node in n1 n2; do on_node "$node" mkdir /run/metrics; done
    make_site
    mkdir -p "$cluster/data" "$cluster/home" "$cluster/images" "$cluster/results" "$served"
    echo data >"$cluster/data/file"
    chown -R alice "$cluster/data"
    chmod 1777 "$cluster/home" "$cluster/results" "$served"
    mkdir -m 700 "$MINISLURM_DIR/credentials" "$cluster/credentials"
    start_sshd
    cp -p "$MINISLURM_DIR/credentials/key" "$cluster/credentials"
}

setup() {
    need_root
    enter_work
}

# page FILE: takes the policy that docs/FILE shows into force, and runs the page's commands as alice.
page() {
    install_policy "$1"
    PATH=$BATCHAI_BUILD/bin:$PATH deadline=100 as_alice "$BATCHAI_SOURCE/tests/docs/run_page" --timeout 50 \
        --show "$cluster=/cluster" --show "$MINISLURM_DIR/etc/plugstack.conf=/etc/slurm/plugstack.conf" \
        --show "$MINISLURM_DIR/batchai.toml=/etc/batchai/batchai.toml" "$BATCHAI_SOURCE/docs/$1"
}
install_policy() {
    sed -n '/^```toml$/,/^```$/ { /^```/!p }' "$BATCHAI_SOURCE/docs/$1" |
        sed -e "s,\"/cluster/,\"$cluster/,g" -e "s,@files.example.org:/srv/files,@10.87.0.1:$served," -e 's,"22","12022",' \
            -e "s,/etc/ssh/ssh_known_hosts,$MINISLURM_DIR/sshd/known_hosts," >"$MINISLURM_DIR/batchai.toml"
}

@test "the page about bind mounts shows what happens" { page storage/bind.md; }

@test "the page about scratch space shows what happens" { page storage/scratch.md; }

@test "the page about images shows what happens" { page storage/squashfs.md; }

@test "the page about FUSE programs shows what happens" { page storage/fuse.md; }

@test "the policies of the pages about file servers have no mistake" {
    local name
    for name in nfs cifs; do
        install_policy storage/$name.md
        run env BATCHAI_POLICY="$MINISLURM_DIR/batchai.toml" "$BATCHAI_BUILD/bin/batchai" admin check
        [[ $output = *"ok       policy     $MINISLURM_DIR/batchai.toml, "* ]]
    done
}

@test "the admin guide shows what happens" {
    export BATCHAI_POLICY=$MINISLURM_DIR/batchai.toml
    page admin-guide.md
}

# A job of two nodes with mounts that waits for a file "go", then reads its mount.
waiting_job() {
    install_policy storage/bind.md
    write_script job.sh 'touch started' 'while [ ! -e go ]; do sleep 0.1; done' 'cat /run/batchai/mnt/data/file'
    submit_alice -N 2 -o out --batchai-mount="$cluster/data:data" job.sh
    eventually test -e started
}

@test "a running job goes on and ends well while slurmctld is down, and a new job is refused" {
    waiting_job
    scontrol shutdown slurmctld
    eventually test ! -e "$MINISLURM_DIR/state/slurmctld.pid"
    touch go
    eventually grep -qx data out
    run ! as_alice sbatch --wrap true
    [[ $output = *"Unable to contact slurm controller"* ]]
    timeout 20 slurmctld
    [ "$(wait_job "$job")" = COMPLETED ]
}

@test "a running job goes on and ends well while slurmd is restarted on its nodes" {
    waiting_job
    restart_slurmd n1
    restart_slurmd n2
    touch go
    [ "$(wait_job "$job")" = COMPLETED ]
    grep -qx data out
}
