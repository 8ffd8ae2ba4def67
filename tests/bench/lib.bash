# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the benchmarks have in common: the build, wrong usage, failures, a cluster, one with a site
# policy for those of the plugin, and medians.

source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${BATCHAI_BUILD:-$source/build/release}
bench=${0##*/}

usage() {
    echo "$bench: $1; see --help" >&2
    exit 2
}

# needs_built PROGRAM...: each has to be there.
needs_built() {
    local program
    for program; do
        [ -e "$program" ] || usage "$program: not built: contrib/build.sh release -DBATCHAI_BUILD_TESTS=cluster builds it"
    done
}

# A figure counts only if what was timed has worked: a failure ends the benchmark with one line and
# exit code 1, before it prints a figure. In a subshell, said tells the shell above that it is said.
said=99
die() {
    echo "$bench: $1" >&2
    exit $((BASH_SUBSHELL ? said : 1))
}
# The same for any other command that fails.
failed() { # CODE LINE COMMAND
    [ "$1" != $said ] || exit $((BASH_SUBSHELL ? said : 1))
    die "line $2: $3: exit code $1"
}
set -E
trap 'failed $? $LINENO "$BASH_COMMAND"' ERR

# in_cluster NODES ARGUMENT...: the benchmark again, on the login node of a cluster, with $slurm_conf if that is set.
in_cluster() {
    exec "$source/contrib/minislurm" -n "$1" ${slurm_conf:+-s "$slurm_conf"} -- "$0" "${@:2}"
}

needs_plugin() {
    [ "$(id -u)" = 0 ] || usage "needs root, for real mounts"
    needs_built "$build/lib/spank_batchai.so"
}

# In the cluster: sets work, plugstack and line, the plugin's, whose policy allows $work/data and a tmpfs.
# shellcheck disable=SC2034 # the benchmark's
make_site() {
    work=$MINISLURM_DIR/bench plugstack=$MINISLURM_DIR/etc/plugstack.conf
    mkdir -p "$work/data"
    printf '[[allow]]\ntype = "bind"\nsource = "%s"\n[[allow]]\ntype = "tmpfs"\n' "$work/data" >"$work/batchai.toml"
    line="required $build/lib/spank_batchai.so libexec=$build/bin policy=$work/batchai.toml"
}

median() { # FILE COLUMN: of microseconds, in milliseconds
    [ -s "$1" ] || die "nothing was measured for ${1##*/}"
    awk -v column="$2" '{ print $column }' "$1" | sort -n |
        awk '{ v[NR] = $1 } END { printf "%.2f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2000 }'
}
