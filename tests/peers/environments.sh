#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# environments.sh [NAME]... - makes the Python environments of tests/peers: frameworks, and what Horovod's tests import.
#
# Without a name it lists them: which there are, and what each takes. They go into $BATCHAI_PEERS (default:
# ~/.cache/batchai-peers), beside those of wheels.sh. What is there in these versions already is not made again. Tests use
# what they find there, and skip the rest. Needs the interpreters (of the system, or below ~/.pyenv), and pip.
set -euo pipefail

folder=${BATCHAI_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/batchai-peers}

# What test/utils/common.py of a Horovod checkout imports, and pytest.
suite="pytest==7.4.4 mock==5.1.0 cloudpickle==3.1.0 psutil==6.1.0 packaging==24.2"
newer="pytest==9.2.0 mock==5.2.0 cloudpickle==3.1.3 psutil==7.2.2 packaging==26.4"

# name | Python | on disk | packages; "system" in front of them: those of the interpreter are seen too
environments="
debian | 3.11 | 20 MB | system $suite
torch  | 3.11 | 6 GB  | torch==2.15.0 numpy==2.2.6 $suite
lint   | 3.11 | 2 MB  | vermin==1.9.2
tf2.15 | 3.11 | 1.4 GB | tensorflow-cpu==2.15.1 keras==2.15.0 numpy==1.26.4 h5py==3.16.0 scipy==1.17.1 protobuf==4.25.9 $newer
tf2.21 | 3.11 | 2.7 GB | tensorflow==2.21.0 tensorflow-cpu==2.21.0 tf_keras==2.21.0 keras==3.15.1 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6 h5py==3.14.0 scipy==1.17.1 protobuf==7.36.2 $newer
keras-torch | 3.11 | 5.5 GB | torch==2.15.0 keras==3.15.1 numpy==2.4.6 h5py==3.16.0 pytest==9.2.0 packaging==26.4
"

# interpreter VERSION: the system's, else the first below ~/.pyenv.
interpreter() {
    local path
    for path in "/usr/bin/python$1" "$HOME/.pyenv/versions/$1".*/bin/python; do
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
    "$base" -m venv --without-pip "${options[@]}" "$place"
    "${PIP_PYTHON:-/usr/bin/python3}" -m pip --python "$place/bin/python" install --quiet --disable-pip-version-check \
        --root-user-action=ignore --only-binary :all: "$@"
    echo "$version $list" >"$place/filled"
}

# row NAME: its fields, one a line.
row() { awk -F ' *[|] *' -v name="$1" '{ sub(/ +$/, "") } $1 == name { print $2; print $3; print $4 }' <<<"$environments"; }
names() { awk -F ' *[|] *' 'NF { print $1 }' <<<"$environments"; }

case ${1-} in
    -h | --help)
        sed -n '3,7s/^# \{0,1\}//p' "$0"
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
