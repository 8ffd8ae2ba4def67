#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# all.sh [--list] [--document FILE] [WORD]... - makes the figures of docs/benchmarks.md anew, on this machine.
#
# Figures in the document stand between two lines, the first of which has their command:
#   <!-- figures of: tests/bench/launch.sh --runs 5 -->
#   <!-- end of figures -->
# Runs the commands one after another at the root of the repository, those that contain one of the words if there are
# words, and writes what each prints between its lines: with the processor, the load before the run and the date. If a
# command fails, its figures stay as they are, and all.sh ends with exit code 1 after the others. --list prints the
# commands and runs none. All of them together take some hours; nothing else should run on the machine.
set -euo pipefail
# shellcheck source=tests/bench/lib.bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

document=$source/docs/benchmarks.md list=0
while [ $# -gt 0 ]; do
    case $1 in
        --document) document=$(realpath -m "${2:?--document FILE}") && shift 2 ;;
        --list) list=1 && shift ;;
        -h | --help) sed -n '3,11s/^# \{0,1\}//p' "$0" && exit ;;
        -*) usage "$1: unknown option" ;;
        *) break ;;
    esac
done
words=("$@")
[ -r "$document" ] || usage "$document: cannot be read"

end='<!-- end of figures -->'
mapfile -t commands < <(sed -n 's/^<!-- figures of: \(.*\) -->$/\1/p' "$document")

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

# replace COMMAND FILE: the file's text between the command's lines.
replace() {
    begin="<!-- figures of: $1 -->" end=$end awk -v file="$2" '
        skips && $0 == ENVIRON["end"] { skips = 0 }
        !skips
        $0 == ENVIRON["begin"] { while ((getline line < file) > 0) print line; skips = 1 }
        END { exit skips }' "$document" >"$work/document" || die "$document: no line \"$end\" after: $1"
    cat "$work/document" >"$document"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source"
code=0 found=0
for command in "${commands[@]}"; do
    wanted "$command" || continue
    found=1
    [ $list = 0 ] || { echo "$command" && continue; }
    read -r load _ </proc/loadavg
    begin=$SECONDS
    if bash -c "$command" >"$work/output" </dev/null; then
        {
            printf '\n%s. On %s; load %s before the run.\n\n```\n' "$(processor)" "$(date +%F)" "$load"
            cat "$work/output"
            printf '```\n\n'
        } >"$work/figures"
        replace "$command" "$work/figures"
        echo "all.sh: $command: $((SECONDS - begin)) s"
    else
        code=1
        echo "all.sh: $command failed after $((SECONDS - begin)) s; its figures stay" >&2
    fi
done
[ $found = 1 ] || usage "$document: no command of figures${words[*]:+ that contains ${words[*]}}"
exit $code
