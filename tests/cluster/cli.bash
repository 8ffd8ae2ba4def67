# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests of the command batchai have in common: the plugin's site with a cluster and an image, and
# the command run as alice.

load plugin
# shellcheck disable=SC2154 # set by plugin.bash
: "${share:?}"

export BATCHAI_POLICY=$MINISLURM_DIR/batchai.toml
scope=(-g batchai.horovod -w batchaidev -e cifar)

setup_file() {
    make_site
    cat >>"$BATCHAI_POLICY" <<'TOML'
[[image]]
name = "tensorflow/*"
run_on = "host"
[[preparation]]
command = "apt update;*"
replace = "echo prepared"
[cluster.nc6cluster]
vm_size = "Standard_NC6"
gres = "gpu:1"
TOML
}

setup() {
    [ -x "$BATCHAI_BUILD/bin/batchai" ] || skip "batchai is not built"
    enter_work
}

batchai() { as_alice batchai "$@"; }

# write_command FILE NODES COMMAND: a job that runs a shell command once, on the first node.
write_command() {
    jq -n --argjson nodes "$2" --arg command "$3" '{properties: {
        nodeCount: $nodes,
        customToolkitSettings: {commandLine: $command},
        stdOutErrPathPrefix: "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/out",
        mountVolumes: {azureFileShares: [{
            azureFileUrl: "https://<AZURE_BATCHAI_STORAGE_ACCOUNT>.file.core.windows.net/myshare",
            relativeMountPath: "myshare"}]}}}' >"$1"
}

# start NAME NODES COMMAND: submits such a job.
start() {
    write_command "$1.json" "$2" "$3"
    batchai job create "${scope[@]}" -n "$1" -f "$1.json" --storage-account-name a --query slurm.jobId
}

# write_walk_through: the walk-through's job file, and in place of its script one that takes no time.
write_walk_through() {
    cp "$BATCHAI_SOURCE/contrib/examples/tutorial/job.json" .
    cat >cifar_cnn_distributed.py <<'PY'
import argparse, os
parser = argparse.ArgumentParser()
parser.add_argument("--dir")
folder = os.path.join(parser.parse_args().dir, "saved_models")
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
print("rank", rank, flush=True)
if rank == 0:
    os.makedirs(folder, exist_ok=True)
    open(os.path.join(folder, "keras_cifar10_trained_model.h5"), "w").write("weights")
PY
    chmod 644 ./*
}

state() { batchai job show "${scope[@]}" -n "$1" --query executionState; }
is_in_state() { [ "$(state "$1")" = "\"$2\"" ]; }

# Changes with every submission: the jobs that Slurm knows, and the record directories.
submissions() {
    scontrol show job -o 2>/dev/null | grep -c '^JobId'
    find "$(alice_home)/.local/share/batchai/jobs" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l
}

# refused_with PATTERN BATCHAI_ARGUMENT...: exit code 2, one line that matches the pattern, and no submission. After the
# line comes the policy entry that begins with $entry, or nothing if $entry is not set.
refused_with() {
    local pattern=$1 before after code=0
    shift
    before=$(submissions)
    batchai "$@" >said 2>&1 || code=$?
    after=$(submissions)
    cat said
    [ "$code" = 2 ]
    [ "$(sed '1,/^To allow it, add to /d' said | sed -n 2p)" = "${entry-}" ]
    sed -i '/^To allow it, add to /,$d' said
    [ "$(wc -l <said)" = 1 ]
    # shellcheck disable=SC2053 # a pattern
    [[ $(cat said) == $pattern ]]
    [ "$before" = "$after" ]
}
