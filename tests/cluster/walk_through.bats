#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The walk-through's own script and job file on four nodes: the script is not in this repository, so BATCHAI_WALK_THROUGH
# names it. Keras and TensorFlow are those of tests/peers/environments.sh. What is missing is skipped.
# minislurm: -n 4 -g 1
# plugin: policy=/run/minislurm/batchai.toml

load plugin
# shellcheck disable=SC2154 # set by plugin.bash
: "${share:?}"

export BATCHAI_POLICY=$MINISLURM_DIR/batchai.toml
deadline=200
BATS_TEST_TIMEOUT=$(often 3000 280) # four ranks load TensorFlow
export BATS_TEST_TIMEOUT
scope=(-g batchai.horovod -w batchaidev -e cifar)

setup_file() { :; }

# site ENVIRONMENT IMAGE_LINE...: a policy whose Python has that environment and a slice of data.
site() {
    script=${BATCHAI_WALK_THROUGH-$BATCHAI_SOURCE/../shared/tutorial/cifar_cnn_distributed.py}
    [ -f "$script" ] || skip "BATCHAI_WALK_THROUGH does not name the walk-through's script"
    local python
    peer_python "$1"
    shift
    make_site "python = \"$MINISLURM_DIR/python\""
    {
        printf '[[image]]\nname = "tensorflow/tensorflow:1.8.0-gpu"\nrun_on = "host"\n'
        printf '%s\n' "$@"
        printf '[[preparation]]\ncommand = "apt update;*"\nreplace = "true"\n'
        printf '[cluster.nc6cluster]\nvm_size = "Standard_NC6"\ngres = "gpu:1"\n'
    } >>"$BATCHAI_POLICY"
    mkdir -p "$MINISLURM_DIR/slice"
    cat >"$MINISLURM_DIR/python" <<SH
#!/bin/sh
export PYTHONPATH="\$PYTHONPATH:$MINISLURM_DIR/slice" OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=3
exec "$python" "\$@"
SH
    chmod 755 "$MINISLURM_DIR/python"
    # In place of the whole data set, and of the network: a few images for the script's 25 epochs.
    cat >"$MINISLURM_DIR/slice/sitecustomize.py" <<'PY'
try:
    import builtins
except ImportError:
    import __builtin__ as builtins
import_module = builtins.__import__


def load_data():
    import numpy
    draw = numpy.random.RandomState(0)
    return tuple((draw.randint(0, 256, (count, 32, 32, 3)).astype("uint8"), draw.randint(0, 10, (count, 1)))
                 for count in (32, 16))


def importing(name, *arguments, **keywords):
    module = import_module(name, *arguments, **keywords)
    if name == "keras.datasets" and hasattr(module, "cifar10"):
        module.cifar10.load_data = load_data
    return module


builtins.__import__ = importing
PY
    enter_work
    # shellcheck disable=SC2154 # set by enter_work
    export XDG_DATA_HOME=$work/data
    cp "$script" "$BATCHAI_SOURCE/contrib/examples/tutorial/job.json" .
}

# The walk-through from its share to its job, and what it leaves.
trains() {
    batchai cluster create "${scope[@]:0:4}" -n nc6cluster -s Standard_NC6 -t 4
    batchai storage account create -n mystorageaccount -g batchai.horovod -l eastus --sku Standard_LRS
    batchai storage share create -n myshare --account-name mystorageaccount
    batchai storage directory create -n cifar --share-name myshare --account-name mystorageaccount
    batchai storage file upload --path cifar --share-name myshare --source cifar_cnn_distributed.py --account-name mystorageaccount
    batchai job create "${scope[@]}" -c nc6cluster -n "$1" -f job.json --storage-account-name mystorageaccount
    timeout -k 2 "$deadline" batchai job wait "${scope[@]}" -n "$1" || :
    batchai job file stream "${scope[@]}" -n "$1" --file-name stdout.txt >out
    batchai job file stream "${scope[@]}" -n "$1" --file-name stderr.txt >err
    tail -n 30 out err
    [ "$(batchai job show "${scope[@]}" -n "$1" --query executionState)" = '"succeeded"' ]
    [ "$(grep -c 'Test accuracy: *[0-9.]*' out)" = 4 ]
    [ -s "$share/cifar/saved_models/keras_cifar10_trained_model.h5" ]
    grep -F 'a BroadcastGlobalVariablesCallback was made but never passed to fit()' err
}

@test "the walk-through's own script and job file train on four nodes with TensorFlow 1.8 and Keras 2.1" {
    site tf1.8
    trains old
}

@test "the walk-through's image runs on the host with today's TensorFlow where the policy says compat" {
    site tf2.21 'compat = "tf1"' 'horovod = "batchai"'
    trains new
    grep -F "compat tf1: TensorFlow 1's and Keras 2's names" err
}
