#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# collectives_scale.sh [ROWS] - what the collectives' planner expects allreduces to take on many nodes, by its own cost
#                               functions. ROWS, a file of collectives.sh --json: and how far it is off there.
set -euo pipefail
# shellcheck source=tests/bench/lib.bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

case ${1-} in
    -h | --help) sed -n '3,4s/^# \?//p' "$0"; exit 0 ;;
    -*) usage "$1: no such option" ;;
esac
[ $# -le 1 ] || usage "one file at most"
[ -z "${1-}" ] || [ -r "$1" ] || usage "$1: cannot be read"
model=$build/tests/bench/model
needs_built "$model"
exec /usr/bin/python3 "$source/tests/bench/collectives/scale.py" "$model" "$@"
