#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh format|shell|license|negation|rooms|python|prose|spelling|links|failures|root_calls|tidy - one check over the tracked sources. Exit 77: cannot run here.
# tidy: only sources that were changed (not moved) since the commit $BATCHAI_TIDY_SINCE, if it is set.
set -euo pipefail
cd "$(dirname "$0")/../.."

need() {
    command -v "$1" >/dev/null || {
        echo "skipped: $1 is not installed"
        exit 77
    }
}
sources() { git ls-files -- "$@"; }

git rev-parse --git-dir >/dev/null 2>&1 || {
    echo "skipped: not a git checkout"
    exit 77
}

case $1 in
    format)
        need clang-format-14
        sources '*.cpp' '*.hpp' '*.c' '*.h' '*.cu' | xargs clang-format-14 --dry-run -Werror
        ;;
    shell)
        need shellcheck
        { sources '*.sh' '*.bash' && git grep -lE '^#!.*\b(ba)?sh$' -- ':!*.sh' ':!*.bash' ':!*.md'; } | sort -u | xargs shellcheck -x -S warning
        ;;
    license) # every source says its license in its first five lines
        bad=$(sources '*.cpp' '*.hpp' '*.c' '*.h' '*.cu' '*.py' '*.sh' '*.bash' '*.bats' '*.cmake' '*CMakeLists.txt' |
            while read -r file; do head -n 5 "$file" | grep -q SPDX-License-Identifier || echo "$file"; done)
        [ -z "$bad" ] || {
            printf 'no SPDX-License-Identifier line:\n%s\n' "$bad"
            exit 1
        }
        ;;
    negation) # "! command" ends no test or script: it counts only as the last statement of a function, test or subshell
        # shellcheck disable=SC2016 # awk's
        bad=$(sources '*.bats' '*.bash' '*.sh' | xargs awk '
            FNR == 1 { negated = "" }
            /^[ \t]*(#|$)/ { next }
            {
                if (!continued) {
                    if (negated != "" && $0 !~ /^[ \t]*[})]/) print negated
                    negated = ""
                    place = FILENAME ":" FNR
                    text = ""
                }
                text = text $0
                continued = /(\\|\||&&)$/
                if (!continued && text ~ /^[ \t]*! / && text !~ /\|\|/) negated = place ": " text
            }')
        [ -z "$bad" ] || {
            printf 'cannot fail here (write "run ! command", or "! command || return 1"):\n%s\n' "$bad"
            exit 1
        }
        # bats 1.8's run sets the variable i if it has an exit code to expect, and a loop by i does not end.
        bad=$(sources 'tests/*.bats' 'tests/*.bash' | xargs grep -nE '^ *for \(\(i\b') || true
        [ -z "$bad" ] || {
            printf 'run -N changes i (count with another name, such as round):\n%s\n' "$bad"
            exit 1
        }
        ;;
    rooms) # a folder includes only those that docs/architecture.md allows it: the graph has no circle
        # shellcheck disable=SC2016 # awk's
        bad=$(sources '*.hpp' '*.cpp' '*.h' '*.cu' | grep -v '^tests/' | xargs grep -nE '^#include "' | awk '
            BEGIN {
                allow["job"] = "sys"
                allow["slurm"] = "job sys"
                allow["spank/helper"] = "spank job sys"
                allow["spank/helper/user"] = "spank/helper spank job sys"
                allow["spank/helper/root"] = "spank/helper/user spank/helper spank job sys"
                allow["spank/prep"] = "spank spank/helper job sys"
                allow["spank/check"] = "spank spank/helper slurm job sys"
                allow["launcher/common"] = "collectives/comm slurm job sys"
                allow["launcher/env"] = "launcher/common slurm sys"
                allow["launcher/pmix"] = allow["launcher/pmi1"] = allow["launcher/gloo"] = "launcher/common sys"
                allow["launcher/agent"] = "launcher/common launcher/env launcher/pmix launcher/pmi1 launcher/gloo collectives/comm slurm job sys"
                allow["launcher/root"] = "launcher/common launcher/env launcher/gloo slurm job sys"
                allow["launcher"] = "launcher/common launcher/agent launcher/root sys"
                base = "slurm job sys"
                allow["cli/output"] = base
                allow["cli/history"] = base = base " cli/output"
                allow["cli"] = base = base " cli/history"
                allow["cli/policy"] = allow["cli/node"] = base = base " cli"
                allow["cli/job"] = base = base " cli/policy cli/node"
                allow["cli/storage"] = base = base " cli/job"
                allow["cli/cluster"] = base " cli/storage"
                allow["cli/admin"] = base
                base = "batchai sys collectives/reduce collectives/common"
                allow["collectives/reduce"] = "batchai"
                allow["collectives/common"] = "batchai sys collectives/reduce"
                allow["collectives/transport"] = base
                allow["collectives/algorithm"] = allow["collectives/watch"] = base = base " collectives/transport"
                allow["collectives/comm"] = base = base " collectives/algorithm collectives/watch"
                allow["collectives/device"] = base = base " collectives/comm"
                allow["collectives/queue"] = base = base " collectives/device"
                allow["collectives/api"] = base " collectives/queue"
                allow["collectives/tensorflow"] = "batchai"
            }
            function room(path,    part, parts) {
                parts = split(path, part, "/")
                if (part[1] !~ /^(spank|launcher|cli|collectives)$/ || parts < 3) return part[1]
                return part[1] "/" part[2] (part[2] == "helper" && parts > 3 ? "/" part[3] : "")
            }
            {
                file = $0; sub(/:.*/, "", file)
                split($0, quoted, "\"")
                from = room(file); to = room(quoted[2])
                if (from != to && !index(" " allow[from] " ", " " to " ")) print file ": includes " quoted[2]
            }')
        [ -z "$bad" ] || {
            printf 'not allowed by the rooms (docs/architecture.md):\n%s\n' "$bad"
            exit 1
        }
        ;;
    python) # the horovod package: horovod.torch for Python 3.6 and newer, the rest in what 2.7, 3.5 and newer share
        PATH=${BATCHAI_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/batchai-peers}/lint/bin:$PATH
        need vermin
        check() { # check TARGET... -- FILE...: vermin says it in its own words, and what passes is not named
            local targets=()
            for (( ; $#; )); do
                [ "$1" != -- ] || { shift && break; }
                targets+=("-t=$1") && shift
            done
            [ $# -eq 0 ] || vermin --quiet --violations "${targets[@]}" "$@"
        }
        mapfile -t torch < <(sources 'collectives/python/horovod/torch/*.py')
        mapfile -t rest < <(sources 'collectives/python/horovod/*.py' ':!collectives/python/horovod/torch/*')
        check 3.6- -- "${torch[@]}"
        check 2.7 3.5- -- "${rest[@]}"
        ;;
    links) # what the pages link to and name is there
        need python3
        python3 tests/lint/links.py
        ;;
    failures) # messages of spank/, launcher/, cli/ and slurm/ have a cause and a cure in docs/failures.md, exit codes a row in the manuals
        need python3
        python3 tests/lint/failures.py --check
        python3 tests/lint/exit_codes.py
        ;;
    root_calls) # root's calls on paths are in the table of docs/security.md, and tests/lint/root_calls.txt has their numbers
        need python3
        python3 tests/lint/root_calls.py
        ;;
    prose) # line lengths and phrases of documents, manuals, messages, comments and titles of tests; the manuals' markup and style
        need python3
        sources '*.md' 'docs/man/*' '*.cpp' '*.hpp' '*.cu' '*.h' '*.c' '*.py' '*.bats' '*.bash' '*.sh' ':!tests/lint' | xargs python3 tests/lint/prose.py
        need mandoc
        mandoc -Tlint -Wwarning docs/man/*
        need diction # wordy phrases, also across lines, and words that are there twice
        found=$(sources '*.md' 'docs/man/*' | xargs python3 tests/lint/prose.py --plain | diction -n -f tests/lint/diction.txt -s | grep -F -- '->' || true)
        [ -z "$found" ] || {
            printf '%s\n' "$found"
            exit 1
        }
        ;;
    spelling) # the words that follow -L are no mistakes: names, and mistakes that tests make
        need codespell
        sources ':!tests/fuzz/corpus' ':!*.svg' | xargs codespell -q 3 \
            -L coo,nd,nin,inh,nown,nam,craete,pyton,crate,debians,requird,requestor,polcy,tru
        ;;
    tidy)
        need clang-tidy-14
        since=${BATCHAI_TIDY_SINCE-}
        [ -z "$since" ] || git rev-parse --verify --quiet "$since^{commit}" >/dev/null || {
            echo "skipped: no commit $since in this checkout"
            exit 77
        }
        # A compile command for each file: no unity build, no header that only g++ can read.
        cmake -S . -B build/tidy -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
        # GPU sources are compiled only where there is CUDA.
        compiled() { while read -r file; do if grep -qF "/$file\"" build/tidy/compile_commands.json; then echo "$file"; fi; done; }
        # Sanitizer and warning flags of g++ that clang 14 does not know must not count.
        files() { if [ -n "$since" ]; then git diff --name-only -M --diff-filter=AM "$since" -- '*.cpp'; else sources '*.cpp'; fi; }
        files | { grep -v '^tests/' || true; } | compiled | xargs -r -P 2 -n 4 clang-tidy-14 --quiet -p build/tidy --extra-arg=-Wno-unknown-warning-option
        ;;
esac
