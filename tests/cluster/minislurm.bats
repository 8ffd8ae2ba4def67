#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: none

load lib

# The processes of a test's clusters, of any user, have this in their environment.
setup() {
    export BATCHAI_TEST_MARK=mark-$$-$RANDOM
    touch "$BATS_TEST_TMPDIR/before"
}

# Nothing may be left of a test's clusters, also after a failure.
teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || echo "${output-}"
    deadline=10 eventually nothing_remains
}

of_the_clusters() { # process numbers
    local process
    for process in $(grep -lszF "BATCHAI_TEST_MARK=$BATCHAI_TEST_MARK" /proc/[0-9]*/environ); do
        process=${process#/proc/} process=${process%/environ}
        [ "$(readlink "/proc/$process/ns/mnt")" = "$(readlink /proc/self/ns/mnt)" ] || echo "$process"
    done
}

nothing_remains() {
    local found
    found=$(
        of_the_clusters | xargs -r ps -o pid=,args= -p
        grep -E 'minislurm|link-n[0-9]' /proc/self/mountinfo /proc/net/dev
        find /tmp /run /var/tmp /dev/shm -maxdepth 1 -newer "$BATS_TEST_TMPDIR/before" -name '*slurm*' -o -name '*munge*'
    )
    [ -z "$found" ] || { echo "left behind: $found" && return 1; }
}

cluster() { timeout -k 2 60 minislurm "$@"; }

# Put before a command: a user without any rights runs it.
unprivileged=()
[ "$(id -u)" != 0 ] || unprivileged=(setpriv --reuid 65534 --regid 65534 --clear-groups)

@test "a command runs on the login node of a cluster and its exit code is passed on" {
    run -7 cluster -n 3 -- bash -c 'hostname; sinfo -h -o "%D %T"; srun -N3 hostname | sort; exit 7'
    [ "$output" = $'ctl\n3 idle\nn1\nn2\nn3' ]
}

@test "a command that does not exist ends with 127" {
    run -127 cluster -n 1 -- /nowhere/command
}

@test "without a command a shell reads its standard input" {
    run -5 cluster -n 1 <<<'srun hostname; exit 5'
    [ "$output" = n1 ]
}

@test "on a terminal a shell greets in two lines and leaves with its exit code" {
    run -3 timeout 30 script -qec 'SHELL=/bin/bash minislurm -n 2 -g 1' /dev/null <<<'exit 3'
    [[ $output == *"A Slurm cluster of 2 nodes with 1 GPUs each"*$'\n'*"Leave with exit"* ]]
}

@test "each node has a name, an address, process numbers, /tmp, /run and /dev/shm of its own" {
    # shellcheck disable=SC2016
    run -0 cluster -n 2 -- bash -c '
        look="hostname; ip -4 -o addr show eth0 | grep -o 10.87.0.[0-9]*/; tr \"\\0\" \" \" </proc/1/cmdline; echo /tmp/mark* /run/mark* /dev/shm/mark*"
        srun -Q -w n1 touch /tmp/mark1 /run/mark1 /dev/shm/mark1
        srun -Q -w n1 sh -c "$look"
        srun -Q -w n2 sh -c "$look"'
    [ "${lines[0]}" = n1 ]
    [ "${lines[1]}" = 10.87.0.11/ ]
    [[ ${lines[2]} == *"@node 1 /tmp/mark1 /run/mark1 /dev/shm/mark1" ]]
    [ "${lines[3]}" = n2 ]
    [ "${lines[4]}" = 10.87.0.12/ ]
    [[ ${lines[5]} == *"@node 2 /tmp/mark* /run/mark* /dev/shm/mark*" ]]
}

@test "each node has the GPUs that -g says" {
    # shellcheck disable=SC2016
    run -0 cluster -n 2 -g 4 -- srun -N2 --gpus-per-node=3 sh -c 'echo $CUDA_VISIBLE_DEVICES'
    [ "$output" = $'0,1,2\n0,1,2' ]
}

@test "-s replaces a line of slurm.conf and -p adds one to plugstack.conf" {
    # shellcheck disable=SC2016
    run -0 cluster -n 1 -s KillWait=17 -s 'Prolog=/bin/true' -p 'optional /nowhere/a.so' -p 'optional /nowhere/b.so x=1' -- \
        sh -c 'scontrol show config | grep -E "^(KillWait|Prolog) "; grep -c KillWait $SLURM_CONF; cat $MINISLURM_DIR/etc/plugstack.conf'
    [[ $output =~ KillWait\ +=\ 17 ]]
    [[ $output =~ Prolog\ +=\ /bin/true ]]
    [[ $output == *$'\n1\noptional /nowhere/a.so\noptional /nowhere/b.so x=1' ]]
}

@test "-k keeps the logs, after a kill too" {
    run -0 cluster -n 2 -k "$BATS_TEST_TMPDIR/logs" -- true
    grep -q 'slurmd started' "$BATS_TEST_TMPDIR/logs/slurmd-n2.log"
    run -137 cluster -n 1 -k "$BATS_TEST_TMPDIR/more" -- sh -c 'kill -9 1; kill -9 $$'
    grep -q NodeName=n.1-1. "$BATS_TEST_TMPDIR/more/slurm.conf"
}

@test "as root the cluster has the users alice and bob" {
    need_root
    run -0 cluster -n 1 -- setpriv --reuid alice --regid alice --init-groups env HOME=/run/minislurm/home/alice \
        sh -c 'cd; srun -Q id -un; srun -Q touch made; stat -c %U:%G made; srun -Q ls /run/minislurm/home/bob || srun -Q id -un bob'
    [[ $output == alice$'\n'*alice:alice$'\n'*"Permission denied"*$'\n'bob ]]
}

@test "an ordinary user can run a cluster where user namespaces are permitted" {
    "${unprivileged[@]}" unshare --user true || skip "user namespaces are not permitted here"
    run -0 "${unprivileged[@]}" timeout 60 minislurm -n 4 -g 1 -- \
        bash -c 'srun -N4 id -u; minislurm exec n2 hostname; minislurm link n1 rate 1mbit && minislurm kill n3'
    local id=65534
    [ "$(id -u)" = 0 ] || id=$(id -u)
    [ "$output" = "$id"$'\n'"$id"$'\n'"$id"$'\n'"$id"$'\nn2' ]
}

@test "a cluster of eight nodes comes up" {
    run -0 cluster -n 8 -- srun -N8 hostname
    [ "$(sort -u <<<"$output" | wc -l)" = 8 ]
}

@test "several clusters run at once and do not see each other" {
    local i running=()
    for i in 1 2 3; do
        # shellcheck disable=SC2016
        cluster -n "$i" -- sh -c 'srun -N"$0" sleep 1; sinfo -h -o %D; scontrol show job -o | wc -l' "$i" >"$BATS_TEST_TMPDIR/$i" 3>&- &
        running+=($!)
    done
    wait "${running[@]}"
    [ "$(cat "$BATS_TEST_TMPDIR"/[123])" = $'1\n1\n2\n1\n3\n1' ]
}

@test "a checkout below /tmp is seen by the nodes" {
    local checkout
    checkout=$(mktemp -d /tmp/batchai-test.XXXXXX)
    mkdir "$checkout/contrib" "$checkout/work"
    cp -r "$BATCHAI_SOURCE"/contrib/minislurm* "$checkout/contrib/"
    cd "$checkout/work"
    run -0 timeout 60 ../contrib/minislurm -n 2 -- srun -N2 sh -c 'pwd; ls ../contrib'
    rm -r "$checkout"
    [ "$(grep -c "^$checkout/work$" <<<"$output")" = 2 ]
    [ "$(grep -c '^minislurm.d$' <<<"$output")" = 2 ]
}

@test "exec runs a command on a node and passes on its exit code" {
    run -9 cluster -n 2 -- minislurm exec n2 sh -c 'hostname; pwd; exit 9'
    [ "$output" = n2$'\n'"$PWD" ]
}

@test "-m sets the size of the network's packets" {
    run -0 cluster -n 2 -m 9000 -- bash -c '
        ip -o link show br0
        ip -o link show link-n2
        minislurm exec n2 ip -o link show eth0
        srun -Q -N2 hostname | sort'
    [ "$(grep -c " mtu 9000 " <<<"$output")" = 3 ]
    [[ $output == *$'\nn1\nn2' ]]
}

# Not through srun's own output: under load, srun 22.05 gives a slow link up ("unexpected eof reading
# message body").
@test "link rate limits a node's cable in both directions and data still flows" {
    run -0 cluster -n 2 -- bash -ec '
        minislurm link n2 rate 50mbit
        tc qdisc show dev link-n2
        minislurm exec n2 tc qdisc show dev eth0
        cd $MINISLURM_DIR
        head -c 1000000 /dev/urandom >data
        minislurm exec n2 /usr/bin/python3 -m http.server --bind 10.87.0.12 8000 >server.log 2>&1 &
        fetch() { minislurm exec n1 /usr/bin/python3 -c "import urllib.request as r; open(\"copy\", \"wb\").write(r.urlopen(\"http://10.87.0.12:8000/data\").read())" 2>/dev/null; }
        for ((try = 0; try < 100; try++)); do ! fetch || break; sleep 0.1; done
        cmp data copy
        minislurm link n2 rate 50mbit burst 72kb
        tc qdisc show dev link-n2
        minislurm exec n2 tc qdisc show dev eth0
        minislurm link n2 up
        echo "then: $(tc qdisc show dev link-n2)"'
    [ "$(grep -c 'tbf.* rate 50Mbit burst 32Kb' <<<"$output")" = 2 ]
    [ "$(grep -c 'tbf.* rate 50Mbit burst 72Kb' <<<"$output")" = 2 ]
    [[ $output == *"then: qdisc noqueue"* ]]
}

@test "link down cuts a node off and link up heals it" {
    run -0 cluster -n 2 -- bash -c '
        reach() { minislurm exec n1 timeout 2 bash -c "exec 3<>/dev/tcp/10.87.0.12/6818" 2>/dev/null && echo "$1: reached" || echo "$1: cut off"; }
        reach before
        minislurm link n2 down
        reach down
        minislurm link n2 up
        for ((try = 0; try < 10; try++)); do [ "$(reach up)" = "up: cut off" ] || break; done
        reach up
        srun -Q -w n2 hostname'
    [ "$output" = $'before: reached\ndown: cut off\nup: reached\nn2' ]
}

@test "kill takes all of a node's processes at once and Slurm sees it down" {
    # shellcheck disable=SC2016
    run -69 cluster -n 2 -s SlurmdTimeout=3 -- bash -c '
        count() { ps -eo pidns= | grep -c "^ *$1$"; }
        sbatch -w n2 --output=/dev/null --wrap "setsid sleep 1000 & sleep 1000" >/dev/null
        until pid=$(minislurm exec n2 pgrep -x sleep -n) && [ "$(squeue -h -t R | wc -l)" = 1 ]; do sleep 0.1; done
        space=$(minislurm exec n2 stat -Lc %i /proc/self/ns/pid)
        until [ "$(count $space)" -gt 4 ]; do sleep 0.1; done
        minislurm kill n2
        count $space
        for ((try = 0; try < 300; try++)); do
            [[ $(sinfo -h -n n2 -o %T) != down* ]] || break
            sleep 0.1
        done
        sinfo -h -n n2 -o %T | tr -d "*"
        srun -Q -w n1 hostname
        minislurm exec n2 true'
    [ "$output" = $'0\ndown\nn1\nminislurm: n2: the node is dead' ]
}

@test "wrong input gets one line and exit code 64" {
    local arguments
    while read -r arguments; do
        eval "run -64 cluster $arguments"
        [ "${#lines[@]}" = 1 ]
        [[ $output == "minislurm: "* ]]
    done <<<"-n 0 -- true
-n 201 -- true
-n four -- true
-g -1 -- true
-g 65 -- true
-m 9001 -- true
-m large -- true
-n
-x
-s KillWait -- true
-p /nowhere.so -- true
-k /proc/nowhere -- true
exec n1 true
kill n1
link n1 down"
}

@test "wrong input inside a cluster gets one line and exit code 64" {
    run -0 cluster -n 1 -- bash -c '
        while read -r arguments; do
            minislurm $arguments
            echo "$?"
        done <<<"exec
exec n7 true
exec n1
kill
kill n7
link n1
link n1 sideways
link n1 rate
link n1 rate fast
link n1 rate 1gbit burst
link n1 rate 1gbit burst much
link n1 rate 1gbit burst 9kb
link n1 rate 1gbit limit 72kb
link n7 down"'
    [ "$(grep -c '^64$' <<<"$output")" = 14 ]
    [ "${#lines[@]}" = 28 ]
}

@test "a cluster that does not come up says why and ends with 69" {
    run -69 cluster -n 2 -s Nonsense=1 -- true
    [[ $output == *"unrecognized key: Nonsense"*"the cluster did not come up"* ]]
    run -69 cluster -n 2 -p 'required /nowhere/x.so' -- true
    [[ $output == *"/nowhere/x.so"*"the cluster did not come up"* ]]
}

@test "where namespaces are not permitted one line says so and the exit code is 77" {
    need_root
    run -77 setpriv --bounding-set -sys_admin --inh-caps -sys_admin minislurm -- true
    [ "${#lines[@]}" = 1 ]
    [[ $output == "minislurm: namespaces are not permitted here"* ]]
}

# start COMMAND...: in the background, where bash would have it ignore SIGINT; sets outer to its process.
start() {
    env --default-signal=INT "$@" <&0 >/dev/null 2>&1 3>&- &
    outer=$!
}

# Kills what start started, without bash's words about it.
kill_outer() {
    kill "-$1" $outer
    { wait $outer || true; } 2>/dev/null
}

is_up() { of_the_clusters | xargs -r ps -o args= -p | grep -q '^sleep 987'; }

@test "nothing is left after the outer process is killed, at any moment" {
    local loop loops as
    loops=$(often 100 2)
    for ((loop = 0; loop < 2 * loops; loop++)); do
        as=()
        ((loop % 2)) || as=("${unprivileged[@]}")
        start "${as[@]}" minislurm -n 3 -- sleep 987
        if ((loop < 2)); then eventually is_up; else sleep "0.$((RANDOM % 5))$((RANDOM % 10))"; fi
        kill_outer KILL
        deadline=10 eventually nothing_remains
    done
}

@test "nothing is left after any process inside is killed" {
    local name
    for name in '@cluster' slurmctld munged '@node 1' 'slurmd -N n1'; do
        start timeout 60 minislurm -n 2 -- sleep 987
        eventually is_up
        # shellcheck disable=SC2046
        kill -KILL $(ps -o pid=,args= -p "$(of_the_clusters | paste -sd,)" | awk -v name="$name" 'index($0, name) { print $1; exit }')
        kill_outer TERM
        deadline=10 eventually nothing_remains
    done
}

@test "nothing is left after a termination signal" {
    local signal
    for signal in TERM HUP; do
        start minislurm -n 2 -- sleep 987
        eventually is_up
        kill_outer $signal
        deadline=10 eventually nothing_remains
    done
}

@test "nothing is left after Ctrl-C" {
    mkfifo "$BATS_TEST_TMPDIR/keys"
    start timeout 60 script -qec 'minislurm -n 2 -- sleep 987' /dev/null <>"$BATS_TEST_TMPDIR/keys"
    eventually is_up
    printf '\003' >"$BATS_TEST_TMPDIR/keys"
    wait $outer && false || [ $? = 130 ]
}

@test "nothing is left after the terminal is closed" {
    mkfifo "$BATS_TEST_TMPDIR/keys"
    start script -qec 'SHELL=/bin/bash minislurm -n 2 -- bash -ic "sleep 987"' /dev/null <>"$BATS_TEST_TMPDIR/keys"
    eventually is_up
    kill_outer KILL
}

@test "a checkout below a directory that others may write to is tested in one of root's" {
    [ "$(id -u)" = 0 ] || skip "needs root: other users and real privileges"
    mkdir -m 1777 "$BATS_TEST_TMPDIR/public"
    mkdir "$BATS_TEST_TMPDIR/public/clone"
    printf '%s\n' '# minislurm: -n 1' '@test "here" {' '[ "$BATCHAI_SOURCE" = /srv/batchai ]' '}' >"$BATS_TEST_TMPDIR/here.bats"
    # shellcheck disable=SC2016 # the shell inside expands it
    run env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$BATS_TEST_TMPDIR" timeout 60 unshare --mount sh -c 'mount --bind "$0" "$1" && exec "$1/tests/cluster/run" "$2"' \
        "$BATCHAI_SOURCE" "$BATS_TEST_TMPDIR/public/clone" "$BATS_TEST_TMPDIR/here.bats"
    echo "$output"
    [ "$status" -eq 0 ]
}
