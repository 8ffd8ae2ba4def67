#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# figures.sh [REV] - figures about the structure of the sources, of the working tree or of a commit.
#
# Lines count everything. A function is what stands between a line at the left margin that ends in "{" and
# the next "}" there. A method is a function that a class declares, a member a name with "_" at its end. Mechanisms:
# the number of files outside sys/ that call the function themselves. Documents are pages and manuals.
set -euo pipefail
cd "$(dirname "$0")/../.."

case ${1-} in
    -h | --help)
        sed -n '3,8s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    "") ;;
    *)
        tree=$(mktemp -d)
        trap 'rm -rf "$tree"' EXIT
        git archive "$1" | tar -x -C "$tree"
        cd "$tree"
        ;;
esac

# files: C++ sources of the rooms; an old commit has fewer rooms.
files() { { find sys job slurm spank launcher cli collectives -name '*.[ch]pp' -type f 2>/dev/null || true; } | sort; }
calls() { files | grep -v '^sys/' | xargs grep -lE "$1" | wc -l; }

files | xargs awk '
    FNR == 1 { start = 0; class = "" }
    { lines[FILENAME] = FNR }
    /^[^ #\/}].*\{$/ && !/^(namespace|class|struct|enum|union|extern)/ { start = FNR; name = $0 }
    /^}/ {
        size = start ? FNR - start + 1 : 0
        if (size > longest) { longest = size; where = FILENAME ":" start }
        if (size > 60) ++above
        start = 0
    }
    /^(class|struct) [A-Za-z]+ .*\{$|^(class|struct) [A-Za-z]+ \{$/ { class = $2; members = methods = 0 }
    /^    .*[a-z0-9]_( = [^=].*|\{.*\})?;/ && class != "" && !/\(/ { members += gsub(/[a-z0-9]_[;, =\{]/, "&") }
    /^    [A-Za-z~].*[A-Za-z]\(/ && !/^    (using|friend|static_assert)/ && !/[a-z0-9]_(;| =|\{)/ && class != "" { ++methods }
    /^};/ {
        if (members > most) { most = members; largest = class }
        if (methods > most_methods) { most_methods = methods; busiest = class }
        class = ""; members = methods = 0
    }
    END {
        n = 0
        for (f in lines) { sizes[n++] = lines[f]; total += lines[f]; if (lines[f] > big) { big = lines[f]; bigfile = f } }
        for (i = 0; i < n; ++i) for (j = i; j > 0 && sizes[j - 1] > sizes[j]; --j) { t = sizes[j]; sizes[j] = sizes[j - 1]; sizes[j - 1] = t }
        printf "%-40s %d in %d files\n%-40s %d\n%-40s %d (%s)\n", "lines of C++", total, n, "median file", sizes[int(n / 2)], "largest file", big, bigfile
        printf "%-40s %d (%s)\n%-40s %d\n", "longest function", longest, where, "functions above 60 lines", above
        printf "%-40s %d (%s)\n%-40s %d (%s)\n", "most methods", most_methods, busiest, "most members", most, largest
    }'

# Not counted: the source of the same name, and tests.
one_includer() {
    files | xargs grep -oE '^#include "[^"]+"' | sed -E 's/:#include "/ /; s/"$//' |
        awk '{ from = $1; to = $2; sub(/\.[a-z]+$/, "", from); sub(/\.hpp$/, "", to) } from != to { print $2 }' | sort | uniq -c | awk '$1 == 1'
}
printf '%-40s %d of %d\n' "headers with one includer" "$(one_includer | wc -l)" "$(files | grep -c 'hpp$')"
printf '%-40s %d\n' "sources below 40 lines" "$(files | grep 'cpp$' | xargs wc -l | awk '$2 != "total" && $1 < 40' | wc -l)"
printf '%-40s %s\n' "mechanisms outside sys/ (files)" \
    "pipes $(calls '\bpipe2?\('), fork $(calls '\bv?fork\(\)'), exec $(calls '\bexecv[pe]*\('), time of day $(calls 'system_clock::now')"

# lines_of DIRECTORY PATTERN: of the files below it whose path matches.
lines_of() { find "$1" -type f | grep -E "$2" | xargs cat | wc -l; }
printf '%-40s %d\n' "lines of Python" "$(lines_of collectives/python '\.py$')" \
    "lines of tests" "$(lines_of tests '\.(bats|sh|bash|cpp|hpp|py|cu|txt|c|h)$')" \
    "lines of documents" "$(lines_of docs '(\.md|/man/.*)$')"
