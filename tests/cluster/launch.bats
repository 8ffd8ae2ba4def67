#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2 -g 2
#
# shellcheck disable=SC2154 # job is set by submit

load lib

launch() { salloc --quiet -N2 batchai-launch "$@"; }

@test "a command gets one rank per GPU, and the launcher says so" {
    run -0 salloc --quiet -N2 --gres=gpu:2 batchai-launch sh -c 'echo "$RANK on $(hostname) sees $CUDA_VISIBLE_DEVICES"'
    [[ $output = *"batchai-launch: one rank per GPU: 4 ranks on 2 nodes"* ]]
    for line in "0 on n1" "1 on n1" "2 on n2" "3 on n2"; do grep -qx "$line sees 0,1" <<<"$output"; done
}

@test "each rank may see its own GPUs only" {
    # shellcheck disable=SC2016 # expanded by the rank
    run -0 salloc --quiet -N2 --gres=gpu:2 batchai-launch --gpu-visibility rank -n 3 sh -c 'echo "$RANK sees $CUDA_VISIBLE_DEVICES"'
    [ "$(sort <<<"$output")" = $'0 sees 0\n1 sees 1\n2 sees 0,1' ]
}

@test "with MIG a rank sees only its own instance, because CUDA shows a process no more" {
    run -0 env CUDA_VISIBLE_DEVICES=MIG-a,MIG-b timeout 30 batchai-launch --local 1 -n 2 sh -c 'echo "$RANK sees $CUDA_VISIBLE_DEVICES"'
    [ "$(sort <<<"$output")" = $'0 sees MIG-a\n1 sees MIG-b' ]
}

@test "a list of GPUs is read as CUDA reads it, so that no rank is without one" {
    ranks_with() { run env CUDA_VISIBLE_DEVICES="$1" timeout 30 batchai-launch --local 1 --gpu-visibility rank sh -c 'echo "$RANK/$WORLD_SIZE $CUDA_VISIBLE_DEVICES"'; }
    for list in "0,1," "0, 1" 0,1,-1,2; do
        ranks_with "$list"
        [ "$(grep / <<<"$output" | sort)" = $'0/2 0\n1/2 1' ]
    done
    ranks_with 3,-1,2
    [ "$(grep / <<<"$output")" = "0/1 3" ]
    ranks_with 0,0
    [ "$status" -eq 125 ]
    [[ $output = *": CUDA_VISIBLE_DEVICES=0,0: 0 is there twice, and CUDA then finds no GPU at all. Name each GPU once" ]]
}

@test "a command without GPUs gets one rank per node, and the launcher says so" {
    run -0 launch sh -c 'echo "$RANK on $(hostname)"'
    [[ $output = *"no GPUs, one rank per node: 2 ranks on 2 nodes"* ]]
}

@test "the ranks of a command are dealt out in blocks" {
    run -0 launch -n 3 sh -c 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $(hostname)"'
    [ "$(sort <<<"$output")" = $'0/3 0/2 n1\n1/3 1/2 n1\n2/3 0/1 n2' ]
}

@test "TensorFlow finds its workers, and Gloo and NCCL the interface between the nodes" {
    # shellcheck disable=SC2016 # expanded by the rank
    probe='jq -c "[.task.index, .cluster.worker]" <<END
$TF_CONFIG
END
echo "$GLOO_SOCKET_IFNAME $NCCL_SOCKET_IFNAME"
if ip -o -4 addr show dev "$GLOO_SOCKET_IFNAME" | grep -q "inet $MASTER_ADDR/"; then echo master; fi'
    run -0 launch -n 3 sh -c "$probe"
    for rank in 0 1 2; do grep -q "^\[$rank,\[\"[0-9.]*:[0-9]*\",\"[0-9.]*:[0-9]*\",\"[0-9.]*:[0-9]*\"\]\]$" <<<"$output"; done
    [ "$(grep -c '^master$' <<<"$output")" = 2 ]
    interface=$(grep -m1 '=' <<<"$output")
    [ "${interface% =*}" = "${interface#* =}" ]
    [ "$(launch --interface "${interface% =*}" -n 1 printenv OMPI_MCA_btl_tcp_if_include)" = "${interface% =*}" ]
    run -125 launch --interface no-such true
    [[ $output == *"batchai-launch: n"?": interface no-such: not there"* ]]
}

@test "cyclic ranks go round the nodes, and all families of variables agree" {
    # shellcheck disable=SC2016 # expanded by the rank
    run launch --map cyclic -n 3 sh -c \
        'echo "$RANK $LOCAL_RANK/$LOCAL_WORLD_SIZE $SLURM_LOCALID $SLURM_GTIDS $OMPI_COMM_WORLD_LOCAL_RANK $HOROVOD_CROSS_RANK/$HOROVOD_CROSS_SIZE $GROUP_RANK $(hostname)"'
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output")" = $'0 0/2 0 0,2 0 0/2 0 n1\n1 0/1 0 1 0 1/2 1 n2\n2 1/2 1 0,2 1 0/1 0 n1' ]
}

@test "without GPUs the tasks of an uneven allocation become its ranks" {
    run -0 salloc --quiet -N2 -n 5 batchai-launch sh -c 'echo "$RANK on $(hostname), $SLURM_TASKS_PER_NODE"'
    [[ $output = *"one rank per task of the allocation: 5 ranks on 2 nodes"* ]]
    [ "$(grep -c 'on n1, 4,1$' <<<"$output")" = 4 ]
    grep -qx '4 on n2, 4,1' <<<"$output"
}

@test "ranks find their place in Slurm's, torch's, Horovod's and Open MPI's variables" {
    run launch --ranks-per-node 2 sh -c \
        'echo "$SLURM_PROCID $RANK $HOROVOD_RANK $OMPI_COMM_WORLD_RANK $SLURM_NTASKS $SLURM_TASKS_PER_NODE $MASTER_ADDR"'
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output")" = "$(for r in 0 1 2 3; do echo "$r $r $r $r 4 2(x2) 10.87.0.11"; done)" ]
}

@test "options of the batch script for its own steps do not disturb the agents" {
    cat >"$BATS_TEST_TMPDIR/script" <<'END'
#!/bin/sh
exec batchai-launch --ranks-per-node 2 sh -c 'echo "rank $RANK"'
END
    for options in "--ntasks-per-node=2" "-c 2" "--mem-per-cpu=10" "--gpus-per-node=2" "--export=NIL,PATH" "--exclusive"; do
        # shellcheck disable=SC2086 # options are words
        submit -N2 $options --export=ALL --output="$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/script"
        [ "$(wait_job "$job")" = COMPLETED ]
        [ "$(sort "$BATS_TEST_TMPDIR/out")" = $'rank 0\nrank 1\nrank 2\nrank 3' ]
    done
}

@test "a failing rank's exit code is the job's, and the report has the rank, its node and its last output" {
    run -3 launch -n 4 sh -c '[ $RANK != 2 ] || { echo "no such data" >&2; exit 3; }; sleep 60'
    [[ $output = *"batchai-launch: rank 2 on n2 exited with code 3 after "*"last lines of its stderr:"*"no such data"* ]]
    [[ $output = *"3 other ranks ended after it"* ]]
}

@test "a rank that crashes is reported with its signal" {
    run -139 launch -n 4 sh -c '[ $RANK != 1 ] || kill -SEGV $$; sleep 60'
    [[ $output = *"rank 1 on n1 was killed by signal 11 (SIGSEGV)"* ]]
}

@test "a rank that is killed is reported with its signal" {
    run -137 launch -n 4 sh -c '[ $RANK != 3 ] || kill -KILL $$; sleep 60'
    [[ $output = *"rank 3 on n2 was killed by signal 9 (SIGKILL)"* ]]
}

@test "ranks that ignore SIGTERM are killed when another has failed" {
    run -4 launch -n 4 sh -c 'trap "" TERM; [ $RANK != 0 ] || exit 4; sleep 100; sleep 100'
}

@test "a command that does not exist ends the job with 127" {
    run -127 launch no-such-command
    [ "$status" -eq 127 ]
    [[ $output = *"no-such-command: command not found"* ]]
}

@test "a command that cannot be executed ends the job with 126" {
    echo text >"$BATS_TEST_TMPDIR/file"
    run -126 launch "$BATS_TEST_TMPDIR/file"
}

@test "a directory in place of a command ends the job with 126" {
    run -126 launch --local 2 -n 2 "$BATS_TEST_TMPDIR"
    [[ $output = *"$BATS_TEST_TMPDIR: Is a directory"* ]]
}

@test "a job that takes too long ends with 124" {
    run -124 launch --timeout 1 sleep 60
    [[ $output = *"time-out"* ]]
    [[ $output == *"rank 0 on n1, process "*": sleeping"* ]]
}

@test "background processes of ranks do not outlive the job" {
    run -0 launch -n 4 sh -c '(setsid sleep 300 &) ; (nohup sleep 300 >/dev/null 2>&1 &); exit 0'
}

@test "nothing is left when an agent is killed" {
    salloc --quiet -N2 batchai-launch -n 4 sh -c 'sleep 300 & sleep 301' &
    eventually on_node n2 pgrep -fx 'sleep 301'
    on_node n2 sh -c 'kill -9 $(pgrep -f "batchai-launch --[a]gent" | tail -n 1)'
    local code=0
    wait $! || code=$?
    [ "$code" -eq 125 ]
}

@test "nothing is left when an agent's guard is killed" {
    salloc --quiet -N2 batchai-launch -n 4 sh -c 'sleep 300 & sleep 301' &
    eventually on_node n2 pgrep -fx 'sleep 301'
    on_node n2 sh -c 'kill -9 $(pgrep -f "batchai-launch --[a]gent" | head -n 1)'
    ! wait $!
}

@test "nothing is left when the launcher is killed" {
    submit -N2 --output=/dev/null --wrap 'batchai-launch -n 4 sh -c "sleep 300 & sleep 301"'
    eventually on_node n2 pgrep -fx 'sleep 301'
    on_node n1 sh -c 'kill -9 $(pgrep -f "batchai-launch -n [4]")'
    wait_job "$job"
}

@test "nothing is left when srun is killed" {
    submit -N2 --output=/dev/null --wrap 'batchai-launch -n 4 sh -c "sleep 300 & sleep 301"'
    eventually on_node n2 pgrep -fx 'sleep 301'
    on_node n1 sh -c 'kill -9 $(pgrep -xo srun)'
    wait_job "$job"
}

@test "nothing is left when the job is cancelled" {
    submit -N2 --output=/dev/null --wrap 'batchai-launch -n 4 sh -c "sleep 300 & sleep 301"'
    eventually on_node n2 pgrep -fx 'sleep 301'
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
}

# listening NODE PID: the TCP sockets of a process that take connections.
listening() {
    # shellcheck disable=SC2016 # expanded on the node
    on_node "$1" sh -c 'find "/proc/$1/fd" -lname "socket:*" -printf "%l\n" | tr -dc "0-9\n" |
        while read -r inode; do awk -v i="$inode" "\$4 == \"0A\" && \$10 == i" "/proc/$1/net/tcp"; done' - "$2"
}

@test "once the ranks run no process can connect to the launcher" {
    submit -N2 --output=/dev/null --wrap 'batchai-launch -n 4 sh -c "sleep 301"'
    eventually on_node n2 pgrep -fx 'sleep 301'
    root=$(on_node n1 pgrep -f 'batchai-launch -n [4]' | tail -n 1)
    [ -n "$root" ]
    [ -z "$(listening n1 "$root")" ]
    scancel "$job"
    wait_job "$job"
}

is_closed() { [ -z "$(listening n1 "$1")" ]; }
has_directory() { on_node "$1" find /tmp/ -maxdepth 1 -name 'batchai.run.??????' | grep -q .; }

@test "nothing is left when the job is cancelled while its agents start" {
    # An agent reads hwloc's file when it has made its directories, before it greets the launcher.
    topology=$BATS_TEST_TMPDIR/topology
    mkfifo "$topology"
    HWLOC_XMLFILE=$topology submit -N2 --output="$BATS_TEST_TMPDIR/out" --wrap 'batchai-launch true'
    for node in n1 n2; do eventually has_directory $node; done
    root=$(on_node n1 pgrep -f 'batchai-launch tru[e]' | tail -n 1)
    run ! is_closed "$root"
    scancel "$job"
    eventually is_closed "$root"
    while [ -n "$(squeue -h -j "$job")" ]; do timeout 0.2 sh -c ': >"$1"' - "$topology" || true; done
    grep -qx 'batchai-launch: asked to end by SIGTERM: the job was cancelled' "$BATS_TEST_TMPDIR/out"
}

@test "srun with several launchers starts the job once, and the other launchers say what to do" {
    run -125 salloc --quiet -N2 srun --overlap -N2 --ntasks-per-node=1 batchai-launch -n 2 sh -c 'echo "rank $RANK"'
    [[ $output = *"batchai-launch: srun has started this as task 1: start it once, without srun or"* ]]
    [ "$(grep -c '^rank 0$' <<<"$output")" -eq 1 ]
    [ "$(grep -c '^rank 1$' <<<"$output")" -eq 1 ]
}

@test "an empty command is refused" {
    run -125 launch ''
    [ "$output" = "batchai-launch: the command is an empty word: is a variable of the script unset?; see batchai-launch --help" ]
}

@test "an option of another launcher is refused with the option to use instead" {
    run -125 batchai-launch -np 4 true
    [ "$output" = "batchai-launch: -np: another launcher's option; here: -n N; see batchai-launch --help" ]
    run -125 batchai-launch --nproc_per_node=2 true
    [ "$output" = "batchai-launch: --nproc_per_node: another launcher's option; here: --ranks-per-node K; see batchai-launch --help" ]
    run -125 batchai-launch --local 2 -x VARIABLE true
    [[ $output = *"-x: another launcher's option; here: ranks get the whole environment"* ]]
    run -125 batchai-launch --local 1 --ranks-per-node two echo --nodes 3 # the command's own
    [[ $output = *"--ranks-per-node"* && $output != *"another launcher"* ]]
    run -0 batchai-launch --local 1 -n 1 echo -np 4
    [ "$output" = "-np 4" ]
}

@test "output of all ranks is merged by whole lines" {
    run launch -n 4 /usr/bin/python3 -c '
import os, sys
for i in range(20000):
    sys.stdout.write("rank %s line %d %s\n" % (os.environ["RANK"], i, "x" * (i % 50)))'
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 80000 ]
    ! grep -vqxE 'rank [0-3] line [0-9]+ x*' <<<"$output"
}

@test "a prompt does not wait for the end of its line, in the output or in the rank's own file" {
    mkfifo "$BATS_TEST_TMPDIR/go"
    exec 9<>"$BATS_TEST_TMPDIR/go"
    # shellcheck disable=SC2016 # expanded by the rank
    launch --output-dir "$BATS_TEST_TMPDIR/logs" -n 1 sh -c 'printf "name? "; read -r name <"$0"; printf "10%%\r20%%"; read -r _ <"$0"; echo; echo "$name"' \
        "$BATS_TEST_TMPDIR/go" >"$BATS_TEST_TMPDIR/out" &
    eventually grep -q '^name? $' "$BATS_TEST_TMPDIR/out"
    eventually grep -q '^name? $' "$BATS_TEST_TMPDIR/logs/rank.0/stdout"
    echo Ada >&9
    eventually grep -q '20%$' "$BATS_TEST_TMPDIR/out"
    echo >&9
    wait $!
    exec 9>&-
    [ "$(cat "$BATS_TEST_TMPDIR/out")" = $'name? 10%\r20%\nAda' ]
    cmp "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/logs/rank.0/stdout"
}

@test "no rank writes into the unfinished line of another, with labels or without" {
    mkfifo "$BATS_TEST_TMPDIR/go"
    exec 9<>"$BATS_TEST_TMPDIR/go"
    for label in '' --label; do
        # shellcheck disable=SC2016,SC2086 # expanded by the rank; an option or none
        launch $label -n 2 sh -c 'if [ $RANK = 0 ]; then printf "name? "; read -r _ <"$0"; echo Ada; else read -r _ <"$0"; echo hello; read -r _ <"$0"; fi' \
            "$BATS_TEST_TMPDIR/go" >"$BATS_TEST_TMPDIR/out" &
        eventually grep -q 'name? $' "$BATS_TEST_TMPDIR/out"
        # Either rank may read first.
        echo >&9
        eventually grep -qE 'hello|Ada' "$BATS_TEST_TMPDIR/out"
        printf '\n\n' >&9
        wait $!
        sed -E 's/^\[[01] n[12]\] //' "$BATS_TEST_TMPDIR/out" | sort >"$BATS_TEST_TMPDIR/lines"
        grep -qx hello "$BATS_TEST_TMPDIR/lines"
        grep -qE '^(name\? )?Ada$' "$BATS_TEST_TMPDIR/lines"
        [ -z "$label" ] || [ "$(grep -cv '^\[[01] n[12]\] ' "$BATS_TEST_TMPDIR/out")" = 0 ]
    done
    exec 9>&-
}

@test "no rank writes into the unfinished line of another if stdout and stderr are the same file" {
    cd "$BATS_TEST_TMPDIR" || return
    # shellcheck disable=SC2016 # expanded by the rank
    launch -n 2 sh -c 'if [ $RANK = 0 ]; then printf "name? "; until [ -e end ]; do sleep 0.1; done; echo; else until [ -e go ]; do sleep 0.1; done; echo hello >&2; fi' >out 2>&1 &
    eventually grep -q 'name? $' out
    touch go
    eventually grep -qx hello out
    grep -qx 'name? ' out
    touch end
    wait $!
}

@test "a line that stdio cuts at the end of a block stays whole" {
    cd "$BATS_TEST_TMPDIR" || return
    # Rank 0 writes as stdio does to a pipe: a block that ends in a line, and the rest of the line later.
    launch -n 2 --label /usr/bin/python3 -c '
import os, time
def when(name):
    while not os.path.exists(name): time.sleep(0.05)
if os.environ["RANK"] == "1":
    when("cut"); time.sleep(0.5); print("other", flush=True); open("other", "w")
else:
    os.write(1, b"x" * 4090 + b"\nbegin"); open("cut", "w")
    when("other"); time.sleep(0.5); os.write(1, b" end\n")' >out
    grep -qx '.*1.* other' out
    grep -qx '.*0.* begin end' out
    [ "$(wc -l <out)" = 3 ]
}

@test "lines of megabytes are not mixed with those of other ranks" {
    # A rank that a busy machine stops for 200 ms in the middle of a line looks as if it prompted.
    only_in_soak "needs a machine that does nothing else"
    run launch --ranks-per-node 2 /usr/bin/python3 -c '
import os, sys
for i in range(4):
    sys.stdout.write(os.environ["RANK"] * 2_500_000 + "\n")'
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" = 16 ]
    for rank in 0 1 2 3; do
        [ "$(grep -cxE "$rank{1,}" <<<"$output")" = 4 ]
    done
    [ "$(wc -c <<<"$output")" = $((16 * 2500001)) ]
}

@test "a rank that never ends its line loses none of it, and does not fill the agent's memory" {
    # shellcheck disable=SC2016 # expanded by the rank
    launch -n 1 sh -c 'head -c 200000000 /dev/zero | tr "\0" x; grep VmHWM "/proc/$PPID/status" >&2' \
        2>"$BATS_TEST_TMPDIR/error" | wc -c >"$BATS_TEST_TMPDIR/size"
    [ "$(cat "$BATS_TEST_TMPDIR/size")" = 200000000 ]
    read -r _ kilobytes _ <"$BATS_TEST_TMPDIR/error"
    ((kilobytes < 120000))
}

@test "output is passed on byte by byte" {
    head -c 1000000 /dev/urandom >"$BATS_TEST_TMPDIR/random"
    launch -n 1 cat "$BATS_TEST_TMPDIR/random" | cmp - "$BATS_TEST_TMPDIR/random"
}

@test "standard input goes to rank 0" {
    head -c 1000000 /dev/urandom >"$BATS_TEST_TMPDIR/random"
    launch -n 3 sh -c 'exec cat' <"$BATS_TEST_TMPDIR/random" | cmp - "$BATS_TEST_TMPDIR/random"
}

@test "--dry-run prints the plan and runs no rank" {
    run -0 launch -n 3 --dry-run touch "$BATS_TEST_TMPDIR/a file"
    [ ! -e "$BATS_TEST_TMPDIR/a file" ]
    [ "${lines[0]}" = "every rank: touch '$BATS_TEST_TMPDIR/a file'" ]
    grep -qx "    WORLD_SIZE=3" <<<"$output"
    [[ ${output#*"rank 2 on n2: no GPU, "} = *"    LOCAL_RANK=0"*"    RANK=2"*"    SLURM_PROCID=2"* ]]
}

@test "the plan is one JSON document for programs, and the ranks then get what it says" {
    # shellcheck disable=SC2016 # expanded by the rank
    probe='for name in RANK SLURM_TASKS_PER_NODE OMPI_COMM_WORLD_LOCAL_RANK MASTER_ADDR HOROVOD_CROSS_RANK; do
        printenv "$name"; done | paste -sd " "'
    timeout 30 salloc --quiet -N2 --gres=gpu:2 batchai-launch -n 3 --dry-run --json sh -c "$probe" >"$BATS_TEST_TMPDIR/plan"
    [ "$(jq -c '.ranks[] | [.rank, .node, .local_rank, .gpus[0]]' "$BATS_TEST_TMPDIR/plan")" = $'[0,"n1",0,0]\n[1,"n1",1,1]\n[2,"n2",0,0]' ]
    told=$(jq -r '.ranks[].environment | "\(.RANK) \(.SLURM_TASKS_PER_NODE) \(.OMPI_COMM_WORLD_LOCAL_RANK) \(.MASTER_ADDR) \(.HOROVOD_CROSS_RANK)"' "$BATS_TEST_TMPDIR/plan")
    [ "$(salloc --quiet -N2 --gres=gpu:2 batchai-launch -n 3 sh -c "$probe" | sort)" = "$told" ]
}

@test "a user's setting that rules out one of ours does not end the agents of a dry run" {
    OMPI_MCA_btl_tcp_if_exclude=lo run -0 timeout 30 batchai-launch --local 2 --interface lo --dry-run true
    [[ $output != *OMPI_MCA_btl_tcp_if_include* ]]
    I_MPI_THREAD_YIELD=3 run -0 timeout 30 batchai-launch --local 2 -n 2000 --dry-run true
    [[ $output = *OMPI_MCA_mpi_oversubscribe=1* && $output != *I_MPI_WAIT_MODE* ]]
}

@test "a machine without /proc, or without room for processes, starts no rank, and the launcher says so" {
    need_root
    run -125 timeout 30 unshare --mount sh -c 'mount -t tmpfs none /proc && exec batchai-launch --local 2 echo started'
    [ "$output" = "batchai-launch: /proc is not mounted here: mount -t proc proc /proc" ]
    local limit
    for limit in 1 4 6; do
        run -125 timeout 30 setpriv --reuid 4711 --regid 4711 --clear-groups \
            bash -c "cd /; ulimit -u $limit; exec batchai-launch --local 2 -n 8 echo started"
        [[ $output = *"the processes and threads here have reached the user's limit (ulimit -u: $limit) or that of a cgroup (pids.max): raise it"* ]]
        [[ $output != *started* ]]
    done
}

@test "a machine without 127.0.0.1 starts no rank, and the launcher says what is missing" {
    need_root
    remedy='Bring the loopback interface up with this address: ip link set lo up'
    run -125 timeout 30 unshare -n batchai-launch --local 1 -n 2 echo started
    [ "$output" = "batchai-launch: ranks cannot reach their agent at 127.0.0.1: Network is unreachable. $remedy" ]
    run -125 timeout 30 unshare -n sh -c 'ip link set lo up && ip -4 addr del 127.0.0.1/8 dev lo && exec batchai-launch --local 2 echo started'
    [ "$output" = "batchai-launch: ranks cannot reach their agent at 127.0.0.1: Cannot assign requested address. $remedy" ]
    on_node n2 ip -4 addr del 127.0.0.1/8 dev lo
    run launch -n 2 echo started
    on_node n2 ip addr add 127.0.0.1/8 dev lo
    [ "$status" -eq 125 ]
    [ "$output" = "batchai-launch: n2: ranks cannot reach their agent at 127.0.0.1: Cannot assign requested address. $remedy" ]
}

@test "outside an allocation the error names --local" {
    run -125 timeout 10 batchai-launch hostname
    [[ $output = "batchai-launch: no Slurm allocation here: "*"--local"* ]]
}

@test "each line may begin with its rank and node" {
    run -0 launch --label -n 4 sh -c 'echo hello; echo oops >&2'
    [ "$(sort <<<"$output")" = "$(for rank in '0 n1' '1 n1' '2 n2' '3 n2'; do printf '[%s] %s\n' "$rank" hello "$rank" oops; done | sort)" ]
}

# "[0-1,3] text" as "0 text", "1 text", "3 text": how many become one is a matter of time.
expand() {
    local list part text
    while IFS='] ' read -r list text; do
        for part in ${list//[\[,]/ }; do
            for rank in $(seq "${part%-*}" "${part#*-}"); do echo "$rank $text"; done
        done
    done
}

@test "equal lines of several ranks may become one" {
    run -0 launch --collapse -n 4 sh -c 'echo same; [ $RANK = 2 ] || echo "not in rank 2"; printf end'
    [ "$(expand <<<"$output" | sort)" = "$(for rank in 0 1 2 3; do
        printf "$rank %s\n" end same
        [ $rank = 2 ] || echo "$rank not in rank 2"
    done | sort)" ]
}

@test "--output-dir writes each rank's output also to files of its own" {
    run -0 launch --output-dir "$BATS_TEST_TMPDIR/logs" -n 12 sh -c 'echo "out $RANK"; echo "err $RANK" >&2'
    [ "${#lines[@]}" = 24 ]
    for rank in 0 5 11; do
        dir=$BATS_TEST_TMPDIR/logs/rank.$(printf %02d "$rank")
        [ "$(cat "$dir/stdout")" = "out $rank" ]
        [ "$(cat "$dir/stderr")" = "err $rank" ]
    done
}

@test "a directory for the ranks' output that cannot be made ends the job before it begins" {
    run -125 launch --output-dir /proc/logs -n 2 echo started
    [[ $output == *"batchai-launch: n"?": /proc/logs"*": No such file or directory"* ]]
    [[ $output != *started* ]]
}

@test "the report of a failed Python rank has its traceback and NCCL's errors" {
    cat >"$BATS_TEST_TMPDIR/train.py" <<'END'
import os, sys
def deep(n):
    if n: return deep(n - 1) + len(str(n))
    raise ValueError("no such data")
print("host:1:1 [0] NCCL WARN Call to connect failed", flush=True)
if os.environ["RANK"] == "1":
    try: deep(3)
    except ValueError:
        sys.excepthook(*sys.exc_info())
        for i in range(50): print("noise", i, file=sys.stderr)
        sys.exit(5)
import time; time.sleep(60)
END
    run -5 launch -n 2 /usr/bin/python3 "$BATS_TEST_TMPDIR/train.py"
    report=${output#*batchai-launch: rank 1 on n2 exited with code 5}
    [[ $report == *"errors of its libraries:"*"NCCL WARN Call to connect failed"* ]]
    [[ $report == *"last lines of its stderr:"*"    Traceback (most recent call last):"*"    ValueError: no such data"*"    ..."*"noise 49"* ]]
    [[ $report == *"  process "[1-9]* ]]
}

@test "the report of a rank that the kernel kills for lack of memory says so" {
    group=/sys/fs/cgroup/memory/batchai-test.$$
    mkdir "$group" 2>/dev/null || skip "needs the memory controller of cgroups version 1"
    echo 60M >"$group/memory.limit_in_bytes"
    # shellcheck disable=SC2016 # expanded there
    run sh -c 'echo $$ >"$1/cgroup.procs" && exec timeout 60 batchai-launch --local 1 -n 2 /usr/bin/python3 -c "
import os, time
if os.environ[\"RANK\"] == \"1\": x = b\"x\" * (200 << 20)
time.sleep(60)"' - "$group"
    rmdir "$group"
    [ "$status" -eq 137 ]
    [[ $output == *"batchai-launch: rank 1 on ctl-0 was killed by signal 9 (SIGKILL) after "*" s, for lack of memory"* ]]
}

@test "each rank has cores of its own, unless binding is turned off" {
    local ours
    ours=$(grep Cpus_allowed_list /proc/self/status)
    [ "$(OMP_NUM_THREADS='' nproc)" -ge 2 ] || skip "one core only"
    run -0 timeout 30 batchai-launch --local 1 -n 2 grep Cpus_allowed_list /proc/self/status
    [ "$(sort -u <<<"$output" | wc -l)" -eq 2 ]
    run timeout 30 batchai-launch --local 1 -n 2 --bind none grep Cpus_allowed_list /proc/self/status
    [ "$output" = "$ours"$'\n'"$ours" ]
}

@test "on SIGQUIT the launcher reports what each rank is doing, and the job continues" {
    # Rank 0 sleeps in a read, as nothing else says for certain what it does just then.
    mkfifo "$BATS_TEST_TMPDIR/go"
    exec 9<>"$BATS_TEST_TMPDIR/go"
    salloc --quiet -N2 batchai-launch -n 2 sh -c '[ $RANK = 0 ] || kill -STOP $$; read _ <"$0"; echo went on' \
        "$BATS_TEST_TMPDIR/go" >"$BATS_TEST_TMPDIR/out" 2>&1 &
    state_is() { on_node "$1" sh -c 'grep -q "^State:.*$1" $(pgrep -fx "sh -c .*[k]ill -STOP.*" | sed "s,.*,/proc/&/status,")' - "$2"; }
    eventually state_is n1 'S (sleeping)'
    eventually state_is n2 'T (stopped)'
    root=$(pgrep -fx 'batchai-launch -n 2 .*')
    kill -QUIT "$root"
    eventually grep -q 'rank 0 on' "$BATS_TEST_TMPDIR/out" # the nodes answer in any order
    eventually grep -q 'rank 1 on' "$BATS_TEST_TMPDIR/out"
    grep -Eq '^batchai-launch: rank 0 on n1, process [0-9]+: sleeping in [a-z0-9_]+, [0-9.]+ s of CPU time; nothing written for [0-9]+ s; no PMIx_Init so far$' "$BATS_TEST_TMPDIR/out"
    grep -Eq '^batchai-launch: rank 1 on n2, process [0-9]+: stopped by a signal' "$BATS_TEST_TMPDIR/out"
    on_node n2 sh -c 'kill -CONT $(pgrep -fx "sh -c .*[k]ill -STOP.*")'
    printf '\n\n' >&9
    wait $!
    exec 9>&-
    [ "$(grep -c 'went on' "$BATS_TEST_TMPDIR/out")" = 2 ]
}

@test "an agent that is told to end while it makes its directories leaves none" {
    need_root
    strace -o /dev/null true || skip "needs strace, and its being permitted"
    # With directories of its own, where no other launch makes any.
    unshare --mount sh -c 'mount -t tmpfs own /tmp && mount -t tmpfs own /dev/shm && exec sleep 1000' 3>&- &
    local holder=$!
    own() { compgen -G "/proc/$holder/root/$1/batchai.run.??????"; }
    eventually grep -q ' /dev/shm .*own' "/proc/$holder/mountinfo"
    nsenter --mount --target "$holder" strace -f -o /dev/null -e trace=mkdir -e inject=mkdir:delay_exit=500000 \
        batchai-launch --local 1 -n 1 -- true &
    local launch=$!
    eventually own dev/shm
    pkill -TERM -P "$(pgrep -P "$launch")" -f 'batchai-launch --agent'
    status=0
    wait "$launch" || status=$?
    [ "$status" -ne 0 ]
    none_there() { [ -z "$(own tmp; own dev/shm)" ]; }
    eventually none_there
    kill "$holder"
}

@test "the launcher does not hang if its parent ignores SIGCHLD" {
    run timeout -k 2 30 python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execvp(sys.argv[1], sys.argv[1:])' batchai-launch --local 1 -n 1 -- sh -c 'exit 7'
    [ "$status" = 7 ]
}
