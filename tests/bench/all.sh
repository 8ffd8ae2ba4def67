#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# all.sh [--list] [--folder FOLDER] [WORD]... - makes the tables of docs/benchmarks anew, on this machine.
#
# The first line of a table's file is its command: $ tests/bench/launch.sh --runs 5. Files that begin otherwise are
# left alone. all.sh runs the commands one after another at the root of the repository. With words, it runs those that
# contain one of them. It writes what each prints into its file, below the command, the processor, the date and the load
# before the run. If a command fails or is skipped, its file stays as it is, and all.sh ends with exit code 1 after the
# others. --list prints the commands and runs none. All of them take some hours; nothing else should run on the machine.
#
# docs/benchmarks.md has summaries of these files; tests/bench/collectives/summary.py and plot.py make some of them.
set -euo pipefail
# shellcheck source=tests/bench/lib.bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

folder=$source/docs/benchmarks list=0
while [ $# -gt 0 ]; do
    case $1 in
        --folder) folder=$(realpath -m "${2:?--folder FOLDER}") && shift 2 ;;
        --list) list=1 && shift ;;
        -h | --help) sed -n '3,12s/^# \{0,1\}//p' "$0" && exit ;;
        -*) usage "$1: unknown option" ;;
        *) break ;;
    esac
done
words=("$@")
[ -d "$folder" ] || usage "$folder: not a folder"

wanted() { # COMMAND
    local word
    [ ${#words[@]} -gt 0 ] || return 0
    for word in "${words[@]}"; do [[ $1 != *"$word"* ]] || return 0; done
    return 1
}

processor() {
    awk -F '\t*: ' -v cores="$(nproc)" '$1 == "model name" { name = $2 } $1 == "cpu family" { family = $2 } $1 == "model" { model = $2 }
        END { printf "%s cores of %s", cores, name == "" ? "an unknown processor" : name
              if (family != "") printf " (family %s, model %s)", family, model }' /proc/cpuinfo
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source"
code=0 found=0
for file in "$folder"/*.txt; do
    command=$(sed -n '1s/^\$ //p' "$file")
    [ -n "$command" ] && wanted "$command" || continue
    found=1
    [ $list = 0 ] || { echo "$command" && continue; }
    read -r load _ </proc/loadavg
    begin=$SECONDS
    if bash -c "$command" >"$work/output" </dev/null && ! grep -q '^skipped: ' "$work/output"; then
        {
            printf '$ %s\n%s. On %s; load %s before the run.\n\n' "$command" "$(processor)" "$(date +%F)" "$load"
            cat "$work/output"
        } >"$work/figures"
        cat "$work/figures" >"$file"
        echo "all.sh: $command: $((SECONDS - begin)) s"
    else
        code=1
        echo "all.sh: $command failed after $((SECONDS - begin)) s; its figures stay" >&2
    fi
done
[ $found = 1 ] || usage "$folder: no command of figures${words[*]:+ that contains ${words[*]}}"
exit $code
