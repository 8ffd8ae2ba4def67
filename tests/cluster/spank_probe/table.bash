# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What becomes of a job when a callback of a plugin fails: runs one job per row, all at once, each on a
# node of its own (a drained node or a stuck job harms no other row), and prints the table.
#
# A row: plugstack's word | callback | act | command | its exit code | job | node | program ran | text

# Files of the rows; alice must be able to enter it.
table_dir=${BATS_TEST_TMPDIR-}
declare -gA table_sruns # load is a function: its declarations are local

# The rows that are tried: "word callback verb value command".
table_rows() {
    local callback act command
    for callback in init_post_opt user_init task_init_privileged task_init task_post_fork task_exit exit job_prolog job_epilog; do
        for act in 'return -1' 'exit 7'; do
            for command in srun sbatch; do echo "required $callback $act $command"; done
        done
    done
    for callback in init_post_opt task_init_privileged task_init job_prolog job_epilog; do
        echo "optional $callback return -1 srun"
    done
    echo "optional task_init_privileged exit 7 srun"
    echo "optional task_init exit 7 srun"
}

# start_row NODE WORD CALLBACK VERB VALUE COMMAND: notes the process of an srun in table_sruns.
start_row() {
    local node=$1 word=$2 rule="$3 $4 $5" command=$6 row=$table_dir/$1
    local alice=(setpriv --reuid alice --regid alice --init-groups)
    on_node "$node" sh -c "echo '$rule' >/run/$word.rules"
    install -d -o alice -g alice "$row"
    if [ "$command" = srun ]; then
        timeout -k 1 600 "${alice[@]}" srun -w "$node" --job-name="$node" --input=none touch "$row/ran" \
            </dev/null >"$row/text" 2>&1 3>&- &
        table_sruns[$node]=$!
    else
        timeout 30 "${alice[@]}" sbatch -w "$node" --job-name="$node" --output="$row/text" --wrap "touch $row/ran" >/dev/null
    fi
}

srun_is_over() { [ -z "${table_sruns[$1]-}" ] || ! kill -0 "${table_sruns[$1]}" 2>/dev/null; }

# A row's job: its state and exit code, and why it is pending, from the lines of `scontrol show job -o`.
row_state() {
    sed -En "s/.* JobName=$1 .* JobState=([A-Z_]*) Reason=([^ ]*) .* ExitCode=([0-9:]*) .*/\1 \3 \2/p" "$table_dir/jobs" |
        sed -E 's/ (None|NonZeroExitCode|JobLaunchFailure)$//; s/^(CANCELLED|FAILED) 0:54/CANCELLED or FAILED 0:54/'
}

row_is_over() {
    srun_is_over "$1" || return 1
    case $(row_state "$1") in
        RUNNING* | COMPLETING* | CONFIGURING* | '') return 1 ;;
        PENDING*held*) ;;
        PENDING*) return 1 ;;
    esac
}

# Ends when all rows are over but those that the golden table has hanging.
rows_are_over() {
    local number=0 word callback verb value command
    scontrol show job -o >"$table_dir/jobs"
    while read -r word callback verb value command; do
        number=$((number + 1))
        row_is_over "n$number" ||
            grep -qE "^$word \| $callback \| $verb $value \| $command \| (hangs|- \| RUNNING)" "$1" || return 1
    done < <(table_rows)
    [ "$(sinfo -h -t completing,draining -o %D)" = "" ]
}

# A row's text in one line, without what differs between runs, in the order of the alphabet: Slurm's own
# lines and the step daemon's race each other.
row_text() {
    [ ! -f "$table_dir/$1/text" ] || grep -vE 'Broken pipe|queued and waiting|has been allocated|Prolog failure on node' "$table_dir/$1/text" |
        sed -E 's/\bn[0-9]+\b/NODE/g; s/StepId=[0-9.]+/StepId=N/; s/spank_(required|optional)\.so/PROBE/
                s/(wait_for_parent: failed):.*/\1/; s/^slurmstepd-NODE: //' |
        sort -u | awk '{ printf "%s%s", separator, $0; separator = " / " }'
}

# Where the step daemon died, srun waits for ever, or gives up after a while and claims success: "hangs".
print_row() {
    local node=$1 word=$2 callback=$3 act="$4 $5" command=$6 code=- job state text ran=no
    text=$(row_text "$node") job=$(row_state "$node") state=$(node_state "$node")
    [ ! -e "$table_dir/$node/ran" ] || ran=yes
    if [ "$command" = srun ]; then
        if srun_is_over "$node" && [[ $text != *"Timed out waiting for job step"* ]]; then
            wait "${table_sruns[$node]}" && code=0 || code=$?
        else
            kill "${table_sruns[$node]}" 2>/dev/null || true
            code=hangs job=- state=- text=-
        fi
    fi
    echo "$word | $callback | $act | $command | $code | $job | $state | ran: $ran | ${text:--}" | sed "s, *\$,,"
}

# each_row FUNCTION: calls it with every row's node and words.
each_row() {
    local number=0 row
    while read -r -a row; do
        number=$((number + 1))
        "$1" "n$number" "${row[@]}"
    done < <(table_rows)
}

# make_table GOLDEN
make_table() {
    each_row start_row
    sleep 5 # what hangs now, hangs
    deadline=45 eventually rows_are_over "$1" || true
    each_row print_row
}
