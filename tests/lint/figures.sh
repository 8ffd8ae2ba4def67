#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# figures.sh [REV] - figures about the structure of the sources, of the working tree or of a commit.
#
# Lines count everything. A function is what stands between a line at the left margin that ends in "{" and
# the next "}" there; a member is a name with "_" at its end that a class declares. Mechanisms: the number of
# files outside sys/ that call the function themselves.
set -euo pipefail
cd "$(dirname "$0")/../.."

case ${1-} in
    -h | --help)
        sed -n '3,7s/^# \{0,1\}//p' "$0"
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

# files PATTERN...: C++ sources of the rooms.
files() { find sys job spank launcher collectives -type f \( -name '*.cpp' -o -name '*.hpp' \) | sort; }
calls() { files | grep -v '^sys/' | xargs grep -lE "$1" | wc -l; }

files | xargs awk '
    FNR == 1 { start = 0; class = "" }
    { lines[FILENAME] = FNR }
    /^[^ #\/}].*\{$/ && !/^(namespace|class|struct|enum|union|extern)/ { start = FNR; name = $0 }
    /^}/ { if (start && FNR - start + 1 > longest) { longest = FNR - start + 1; where = FILENAME ":" start }; start = 0 }
    /^(class|struct) [A-Za-z]+ .*\{$|^(class|struct) [A-Za-z]+ \{$/ { class = $2; members = 0 }
    /^    .*[a-z0-9]_( = [^=].*|\{.*\})?;/ && class != "" && !/\(/ { members += gsub(/[a-z0-9]_[;, =\{]/, "&") }
    /^};/ { if (class != "" && members > most) { most = members; largest = class }; class = "" }
    END {
        n = 0
        for (f in lines) { sizes[n++] = lines[f]; total += lines[f]; if (lines[f] > big) { big = lines[f]; bigfile = f } }
        for (i = 0; i < n; ++i) for (j = i; j > 0 && sizes[j - 1] > sizes[j]; --j) { t = sizes[j]; sizes[j] = sizes[j - 1]; sizes[j - 1] = t }
        printf "%-40s %d in %d files\n%-40s %d\n%-40s %d (%s)\n%-40s %d (%s)\n%-40s %d (%s)\n", "lines", total, n,
            "median file", sizes[int(n / 2)], "largest file", big, bigfile, "longest function", longest, where,
            "most members", most, largest
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
