#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# quickstart.sh - train the walk-through's network on four Slurm nodes, on an empty machine.
#
#   contrib/quickstart.sh [--keep] [--framework keras|torch] [--python PATH]
#
# Needs Debian 12 or 13, and root or a user with sudo (for the packages only). Installs missing packages, builds
# batchai, starts a temporary four-node Slurm on this machine and runs a Batch AI job.json on it, unchanged,
# with the walk-through's own commands. If namespaces are not permitted, `batchai job run --local` runs the
# same file instead.
#
#   --keep        leave the cluster up afterwards, with a shell in it
#   --framework   trains with Keras 3 on TensorFlow, or with PyTorch (default: Keras if the Python has both, else PyTorch)
#   --python      the Python that trains (default: /usr/bin/python3, for which PyTorch is installed if it is missing)
#
# Exit: 0 if the job succeeded, the model exists and validation accuracy is at least 70 %; 1 otherwise; 2 wrong usage, or
# this machine is not suitable.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release
work=$root/build/quickstart # remade by every run
keep=no where=start framework='' python=/usr/bin/python3

die() {
    echo "quickstart.sh: $*" >&2
    exit 2
}

# A line of plugstack.conf is split at blanks, and has no quotes.
[[ $root != *[[:space:]\"\'\#\&\|\\]* ]] ||
    die "$root: Slurm cannot load a plugin from a path with blanks or one of \"'#&|\\: move this folder to a path without them"

while [ $# -gt 0 ]; do
    case $1 in
        --keep) keep=yes ;;
        --framework)
            [[ ${2-} = keras || ${2-} = torch ]] || die "--framework: ${2:-missing value}: expected keras or torch"
            framework=$2
            shift
            ;;
        --python)
            [[ ${2-} =~ ^/[[:alnum:]._/+-]+$ && -f $2 && -x $2 ]] ||
                die "--python: ${2:-missing value}: expected the absolute path of a program, without blanks"
            python=$2
            shift
            ;;
        --inside) where=cluster ;; # used by this script itself: we are on the cluster's login node
        -h | --help)
            sed -n '3,18s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        *) die "$1: unknown option, see --help" ;;
    esac
    shift
done

# True if it ends well in the Python. -c would have Python import from the current directory, where others may write.
in_python() { (cd / && "$python" -c "$1" 2>/dev/null); }

# True if the Python has TensorFlow and Keras 3. Importing them would take seconds.
has_keras() {
    in_python 'import importlib.metadata, importlib.util, sys
keras = importlib.metadata.version("keras")
sys.exit(int(keras.split(".")[0]) < 3 or not all(map(importlib.util.find_spec, ("tensorflow", "h5py"))))'
}

has_torch() {
    in_python 'import importlib.util, sys
sys.exit(not all(map(importlib.util.find_spec, ("torch", "numpy", "h5py"))))'
}

why=''
if [ "$framework" = keras ]; then
    has_keras || die "--framework keras: $python has no TensorFlow with Keras 3: install TensorFlow, Keras 3 and h5py for it, or name another Python by --python"
elif [ -z "$framework" ]; then
    framework=keras
    has_keras || framework=torch why=", because it has no TensorFlow with Keras 3"
fi
# Missing packages of /usr/bin/python3 are installed.
[ "$framework" != torch ] || [ "$python" = /usr/bin/python3 ] || has_torch ||
    die "$python has no PyTorch: install PyTorch, NumPy and h5py for it, or name another Python by --python"
case $framework in
    keras) script=cifar_cnn_distributed_keras.py name=Keras ;;
    torch) script=cifar_cnn_distributed.py name=PyTorch ;;
esac

say() { printf '\n\033[1m== %s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9]*m//g'; fi; }

# Prints a command as the user would type it, then runs it.
run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

give_up() {
    echo "quickstart.sh: $1; the output above says why" >&2
    exit 1
}

prepare() {
    local others=("$root/contrib/install-packages.sh" run) failed=''
    say "packages"
    "$root/contrib/install-packages.sh" build || give_up "packages are missing"
    # sudo asks for a password here, not in the background.
    [ "$(id -u)" = 0 ] || [ -z "$("${others[@]}" --missing)" ] || ! command -v sudo >/dev/null || sudo -v
    # The others are two thirds of the download, and the build needs none of them.
    "${others[@]}" &
    installation=$!
    # Ctrl-C does not reach a job in the background: apt would go on without this script.
    trap 'echo "quickstart.sh: waiting for apt to end" >&2; wait "$installation"' EXIT
    say "build"
    [ -e "$build/bin/batchai" ] || echo "the first one takes minutes: about two on two cores"
    "$root/contrib/build.sh" release || failed="the build failed"
    trap - EXIT
    wait "$installation" || failed=${failed:-packages are missing}
    [ -z "$failed" ] || give_up "$failed"
    rm -rf "$work"
    mkdir -p "$work/share" "$work/data"
    sed "s|@SHARE@|$work/share|; s|@FRAMEWORK@|$name|g; s|@MODULE@|$framework|g; s|/usr/bin/python3|$python|" \
        "$root/contrib/examples/tutorial/batchai.toml.in" >"$work/batchai.toml"
}

in_experiment=(--resource-group batchai.horovod --workspace batchaidev)
job=("${in_experiment[@]}" --experiment cifar --name cifar_distributed)

# The walk-through's own commands up to the job.
set_the_scene() {
    run batchai group create --name batchai.horovod --location eastus
    run batchai workspace create "${in_experiment[@]}"
    run batchai experiment create "${in_experiment[@]}" --name cifar
    if [ "$1" = cluster ]; then
        run batchai cluster create "${in_experiment[@]}" --name nc6cluster --vm-size Standard_NC6 --target 4 --generate-ssh-keys
        run batchai cluster show "${in_experiment[@]}" --name nc6cluster --output table
    fi
    run batchai storage account create --name mystorageaccount --resource-group batchai.horovod --location eastus --sku Standard_LRS
    run batchai storage share create --name myshare --account-name mystorageaccount
    run batchai storage directory create --name cifar --share-name myshare --account-name mystorageaccount
    run batchai storage file upload --path cifar/cifar_cnn_distributed.py --share-name myshare \
        --account-name mystorageaccount --source "$script"
    run batchai storage file upload --path cifar --share-name myshare --account-name mystorageaccount \
        --source cifar_images.py
}

# Submits to Slurm and follows the output until the job ends.
run_on_cluster() {
    # Each of the four nodes would use all cores of this machine.
    export OMP_NUM_THREADS=$((($(nproc) + 3) / 4))
    run batchai job create --cluster nc6cluster "${job[@]}" \
        --config-file job.json --storage-account-name mystorageaccount
    run batchai job file stream "${job[@]}" --file-name stdout.txt &
    local stream=$! tries=0
    while [ "$(batchai job show "${job[@]}" --query executionState)" = '"queued"' ] && [ $((tries += 1)) -lt 300 ]; do
        sleep 0.2
    done
    run batchai job show "${job[@]}" --query executionState
    run batchai cluster show --name nc6cluster "${in_experiment[@]}" --query nodeStateCounts
    wait $stream
    run batchai job wait "${job[@]}"
}

# The same file on this machine alone: four agents simulate the nodes.
run_locally() {
    run batchai job run --local "${job[@]}" \
        --config-file job.json --storage-account-name mystorageaccount &
    local running=$!
    until batchai job show "${job[@]}" >/dev/null 2>&1 || ! kill -0 $running 2>/dev/null; do sleep 0.2; done
    run batchai job file stream "${job[@]}" --file-name stdout.txt
    wait $running
}

# Shows the job's files, accuracy and model. Fails if one is missing or the accuracy is too low.
show_result() {
    local state accuracy model=$work/keras_cifar10_trained_model.h5
    run batchai job file list "${job[@]}" --output table
    state=$(batchai job show "${job[@]}" --query executionState)
    if [ "$state" != '"succeeded"' ]; then
        say "result"
        echo "state:               $state"
        return 1
    fi
    run batchai storage file download --path cifar/saved_models/keras_cifar10_trained_model.h5 --share-name myshare \
        --account-name mystorageaccount --dest "$work"
    accuracy=$(batchai job file stream "${job[@]}" --file-name stdout.txt 2>/dev/null |
        sed -n 's/.*Test accuracy: *\([0-9.]*\).*/\1/p' | tail -n 1)
    say "result"
    echo "state:               $state"
    echo "validation accuracy: ${accuracy:-none in stdout.txt}"
    echo "model:               $model"
    [ -s "$model" ] && awk "BEGIN { exit !(${accuracy:-0} >= 0.70) }"
}

walk_through() { # cluster | local
    export PATH=$build/bin:$PATH XDG_DATA_HOME=$work/data BATCHAI_POLICY=$work/batchai.toml
    cd "$root/contrib/examples/tutorial"
    say "the walk-through, trained with $name by $python$why"
    set_the_scene "$1"
    if [ "$1" = cluster ]; then run_on_cluster; else run_locally; fi
    show_result
}

if [ $where = cluster ]; then
    cp "$work/batchai.toml" "$MINISLURM_DIR/" # only root can change it there; a user may own the checkout
    rc=0
    walk_through cluster || rc=1
    if [ $keep = yes ]; then
        say "the cluster stays up until you leave this shell"
        (cd "$work" && PATH=$build/bin:$PATH XDG_DATA_HOME=$work/data BATCHAI_POLICY=$work/batchai.toml "${SHELL:-/bin/bash}") || true
    fi
    exit $((rc != 0))
fi

mkdir -p "$root/build"
exec 9>"$root/build/quickstart.lock" # a build that outlives a killed quick start holds it too
flock -n 9 || {
    echo "waiting for another quick start in $root to end"
    flock 9
}
prepare
say "a four-node Slurm on this machine"
again=(--inside --framework "$framework" --python "$python")
[ $keep = no ] || again+=(--keep)
rc=0
# The parent-death signal ends the cluster with this script, also after kill -9.
setpriv --pdeathsig KILL "$root/contrib/minislurm" -n 4 -g 1 \
    -p "required $build/lib/spank_batchai.so policy=/run/minislurm/batchai.toml libexec=$build/bin" \
    -- "$root/contrib/quickstart.sh" "${again[@]}" 9>&- || rc=$?
if [ $rc = 77 ]; then
    echo "so the same file runs with 'batchai job run --local' instead"
    rc=0
    walk_through local || rc=1
fi
exit $rc
