#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job file under batchai-launch --local: what the plugin does on a cluster, without it.
# minislurm: none
#
# shellcheck disable=SC2154 # status, output and lines are set by run

load lib

setup() {
    export XDG_DATA_HOME=$BATS_TEST_TMPDIR/data BATCHAI_POLICY=$BATS_TEST_TMPDIR/batchai.toml
    share=$BATS_TEST_TMPDIR/share
    mkdir -p "$share"
    cat >"$BATCHAI_POLICY" <<END
[job]
python = "/usr/bin/python3"
preparation_timeout = 3
[[share]]
share = "data"
source = "$share"
END
    printf 'import os, sys\nprint("rank", os.environ["RANK"], *sys.argv[1:])\n' >"$share/train.py"
}

teardown() {
    deadline=10 eventually no_process_is_left
}
no_process_is_left() {
    ! ps -eo args= | grep -F "$BATS_TEST_TMPDIR" | grep -qv -e grep -e bats
}

# job NODES TOOLKIT_SETTINGS [MORE_PROPERTIES]: a snapshot of a job file.
job() {
    record=$XDG_DATA_HOME/batchai/jobs/0123
    mkdir -p "$record"
    cat >"$record/job.json" <<END
{
    "properties": {
        "nodeCount": $1,
        $2,
        "stdOutErrPathPrefix": "\$AZ_BATCHAI_JOB_MOUNT_ROOT/d/out",
        "mountVolumes": { "azureFileShares": [ {
            "azureFileUrl": "https://account.file.core.windows.net/data", "relativeMountPath": "d" } ] }
        ${3:+, $3}
    },
    "batchai": { "subscription": "slurm", "resourceGroup": "group", "workspace": "ws", "experiment": "exp",
                 "name": "job", "uuid": "0123" }
}
END
    files=$share/out/slurm/group/workspaces/ws/experiments/exp/jobs/job/0123/stdouterr
}
horovod() { echo "\"horovodSettings\": { \"pythonScriptFilePath\": \"\$AZ_BATCHAI_JOB_MOUNT_ROOT/d/$1\", \"processCount\": ${2:-4} }"; }
mpi() { echo "\"customMpiSettings\": { \"commandLine\": \"$1\", \"processCount\": ${2:-4} }"; }

launch() { timeout -k 2 60 batchai-launch --local "$@" --job "$record/job.json"; }
result() { jq -r "$1" "$record/result.json"; }
events() { cat "$record"/events-*.jsonl; }

@test "a job file runs with as many ranks as it says, and its output is where the service put it" {
    job 2 "$(horovod train.py 4)"
    launch
    [ "$(sort "$files/stdout.txt")" = $'rank 0\nrank 1\nrank 2\nrank 3' ]
    [ -f "$files/stderr.txt" ]
    [ ! -s "$files/stderr.txt" ]
    [ "$(find "$files" -name 'execution-*-[01].log' | wc -l)" -eq 2 ]
    [ "$(result .exitCode)" = 0 ]
}

@test "a job without processCount runs one rank per node" {
    job 3 '"customMpiSettings": { "commandLine": "echo $RANK" }'
    launch 3
    [ "$(sort "$files/stdout.txt")" = $'0\n1\n2' ]
}

@test "a one-node job's logs carry no node's name" {
    job 1 "$(mpi true 1)" '"jobPreparation": { "commandLine": "echo ready" }'
    launch
    [ -f "$files/execution.log" ]
    [ "$(cat "$files/stdout-job_prep.txt")" = ready ]
}

@test "a custom toolkit's command runs once, on the first node" {
    job 2 '"customToolkitSettings": { "commandLine": "echo $BATCHAI_NODE_NAME" }'
    launch
    [ "$(cat "$files/stdout.txt")" = "$(hostname -s)-0" ]
}

@test "job preparation runs once on every node before any rank" {
    job 2 "$(mpi 'cat $AZ_BATCHAI_JOB_MOUNT_ROOT/d/prepared | wc -l' 4)" \
        '"jobPreparation": { "commandLine": "echo one >>$AZ_BATCHAI_JOB_MOUNT_ROOT/d/prepared" }'
    launch
    [ "$(sort -u "$files/stdout.txt")" = 2 ]
    [ "$(find "$files" -name 'std*-job_prep-*.txt' | wc -l)" -eq 4 ]
}

@test "preparation and ranks of a node start in wd of its temporary directory, each node's own" {
    job 2 "$(mpi 'echo $PWD; [ $PWD = $AZ_BATCHAI_JOB_TEMP/wd ]; cat prepared' 4)" \
        '"jobPreparation": { "commandLine": "pwd | tee prepared" }'
    launch
    [ "$(sort -u "$files/stdout.txt" | wc -l)" = 2 ]
    [ "$(wc -l <"$files/stdout.txt")" = 8 ]
    diff <(sort -u "$files/stdout.txt") <(cat "$files"/stdout-job_prep-*.txt | sort)
    rm -r "$share/out"
    job 1 '"customToolkitSettings": { "commandLine": "pwd; echo $AZ_BATCHAI_JOB_TEMP" }'
    launch
    [ "$(sed -n 1p "$files/stdout.txt")" = "$(sed -n 2p "$files/stdout.txt")/wd" ]
}

@test "ranks of MPI have what the preparation adds to .bashrc, and run no other line of it" {
    export HOME=$BATS_TEST_TMPDIR/home
    mkdir "$HOME"
    printf 'echo noise\nexport OWN=1\nexit 3\n' >"$HOME/.bashrc"
    local add='echo \"export ADDED=$AZ_BATCHAI_NUM_GPUS\" >>~/.bashrc'
    for settings in "$(mpi 'echo $ADDED:$OWN:' 2)" \
        '"pyTorchSettings": { "pythonScriptFilePath": "-c pass; echo $ADDED:$OWN:", "communicationBackend": "MPI" }'; do
        job 2 "$settings" '"jobPreparation": { "commandLine": "'"$add"'" }'
        launch
        [ "$(cat "$files/stdout.txt")" = $'0::\n0::' ]
        rm -r "$share/out"
    done
    # Not if nothing was added, and not in another toolkit.
    job 1 "$(mpi 'echo $ADDED:$OWN:' 1)" '"jobPreparation": { "commandLine": "true" }'
    launch
    [ "$(cat "$files/stdout.txt")" = :: ]
    rm -r "$share/out"
    job 1 '"customToolkitSettings": { "commandLine": "echo $ADDED:$OWN:" }' '"jobPreparation": { "commandLine": "'"$add"'" }'
    launch
    [ "$(cat "$files/stdout.txt")" = :: ]
}

@test "a preparation that rewrites .bashrc gets a warning that ranks do not read it" {
    export HOME=$BATS_TEST_TMPDIR/home
    mkdir "$HOME"
    echo 'export OWN=1' >"$HOME/.bashrc"
    job 1 "$(mpi 'echo $OWN:' 1)" '"jobPreparation": { "commandLine": "echo export OWN=2 >~/.bashrc" }'
    launch
    [ "$(cat "$files/stdout.txt")" = : ]
    [ "$(cat "$files/stderr-job_prep.txt")" = "batchai: the preparation changed .bashrc elsewhere than at its end: the ranks do not read the change" ]
}

@test "the job's variables and secrets reach the ranks" {
    job 1 "$(mpi 'echo $A:$AZ_BATCHAI_JOB_WORKSPACE:$(ls $B)' 1)" \
        '"environmentVariables": [ { "name": "A", "value": "text" }, { "name": "B", "value": "$AZ_BATCHAI_JOB_MOUNT_ROOT/d" } ]'
    launch
    [[ $(cat "$files/stdout.txt") = "text:"*"train.py"* ]]
}

@test "the job's secrets and its key are not sent unencrypted between the launcher and its agents" {
    strace -o /dev/null true || skip "needs strace, and its being permitted"
    # shellcheck disable=SC2016 # expanded by the rank
    job 2 "$(mpi 'sh -c \"echo \\${#TOKEN}\"' 2)" '"secrets": [ { "name": "TOKEN", "value": "correct-horse-battery" } ]'
    trace=$BATS_TEST_TMPDIR/trace
    # The key of the job is in the first words that the launcher writes: to its agents' standard input.
    timeout -k 2 60 strace -f -qq -s 1000000 -e trace=write,writev,sendto,sendmsg -o "$trace" \
        batchai-launch --local 2 --job "$record/job.json"
    grep -q 21 "$files/stdout.txt"
    key=$(grep -m1 -o 'batchai-launch-agent [0-9a-f]*' "$trace")
    [ ${#key} -eq 85 ]
    grep 'write(' "$trace" | grep -v 'batchai-launch-agent' >"$trace.sent"
    grep -q '\\27\\3\\3' "$trace.sent" # records of TLS
    ! grep -q -e correct-horse -e "${key##* }" "$trace.sent"
}

@test "a job file's ranks get no TF_CONFIG, as they had none from the service" {
    job 2 "$(mpi 'echo ${TF_CONFIG-none}' 2)"
    launch
    [ "$(cat "$files/stdout.txt")" = $'none\nnone' ]
}

@test "a job whose PATH leads nowhere runs" {
    job 2 "$(mpi 'echo $PATH' 2)" '"environmentVariables": [ { "name": "PATH", "value": "/nope" } ]'
    launch
    [ "$(cat "$files/stdout.txt")" = $'/nope\n/nope' ]
}

@test "a script that starts Open MPI itself finds the host file of the service" {
    job 2 '"customToolkitSettings": { "commandLine": "cat $AZ_BATCHAI_MPI_HOST_FILE; mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 sh -c \"echo \\$OMPI_COMM_WORLD_SIZE\"" }'
    launch
    [ "$(cat "$files/stdout.txt")" = $'127.0.0.1 slots=1\n127.0.0.1 slots=1\n2\n2' ]
}

# fails LINE: the same line on the user's stderr, in the execution logs, in the record, and nothing ran.
fails() {
    run ! --separate-stderr launch "${@:2}"
    local line
    line=$(grep -F "$1" <<<"$stderr" | head -n 1)
    [ -n "$line" ]
    [ "$(cat "$files"/execution*.log | grep -cF "$line")" -ge 1 ]
    events | jq -r 'select(.kind == "failed") | .message' | grep -qxF "$line"
    [ "$(result .failure)" = "$line" ]
    [ ! -s "$files/stdout.txt" ]
}

@test "a failing preparation step ends the job before any rank" {
    job 2 "$(horovod train.py)" '"jobPreparation": { "commandLine": "exit 7" }'
    fails "job preparation failed with exit code 7"
    [ -f "$files/stdout.txt" ]
    grep -q "job preparation failed with exit code 7" "$files/stderr.txt"
}

@test "a hanging preparation step is ended" {
    job 2 "$(horovod train.py)" '"jobPreparation": { "commandLine": "sleep 100" }'
    fails "job preparation was stopped after 3 seconds"
}

@test "a preparation script that does not exist ends the job before any rank" {
    job 2 "$(horovod absent.py)"
    fails "absent.py: the job's script is not there"
}

@test "a nodeCount that is not the number of nodes ends the job before any rank" {
    job 2 "$(horovod train.py)"
    fails "nodeCount is 2, but --local says 3 nodes" 3
}

@test "a toolkit's processes have outputs of their own, and the job's directories are there" {
    printf 'import os, sys\nprint(sys.argv[1], os.environ["AZ_BATCHAI_TASK_INDEX"], os.path.isdir(os.environ["AZ_BATCHAI_OUTPUT_M"]))\n' >"$share/show.py"
    job 2 '"tensorFlowSettings": { "pythonScriptFilePath": "$AZ_BATCHAI_INPUT_CODE/show.py", "parameterServerCount": 0,
            "masterCommandLineArgs": "master", "workerCommandLineArgs": "worker" }' \
        '"inputDirectories": [ { "id": "CODE", "path": "$AZ_BATCHAI_MOUNT_ROOT/d" } ],
         "outputDirectories": [ { "id": "M", "pathPrefix": "$AZ_BATCHAI_JOB_MOUNT_ROOT/d/models" } ]'
    launch
    launch
    [ "$(cat "$files/stdout-wk-0.txt")" = $'master 0 True\nbatchai-launch: the job is launched again: its output goes on here\nmaster 0 True' ]
    grep -qx 'worker 1 True' "$files/stdout-wk-1.txt"
    [ ! -e "$files/stdout.txt" ]
    [ -d "$share/models/slurm/group/workspaces/ws/experiments/exp/jobs/job/0123/outputs" ]
    run -0 launch --dry-run
    [[ $output = *"rank 0: /bin/bash -c"*"show.py master'"*"rank 1: /bin/bash -c"*"show.py worker'"* ]]
}

@test "a parameter server that fails ends the job with its code" {
    printf 'import sys, time\nif sys.argv[1] == "ps": sys.exit(7)\ntime.sleep(60)\n' >"$share/fail.py"
    job 2 '"tensorFlowSettings": { "pythonScriptFilePath": "$AZ_BATCHAI_JOB_MOUNT_ROOT/d/fail.py",
            "masterCommandLineArgs": "w", "workerCommandLineArgs": "w", "parameterServerCommandLineArgs": "ps" }'
    run -7 launch
    [[ $output = *"rank 2 on $(hostname -s)-0 exited with code 7"* ]]
}

@test "what the site's clusters mount is in a job that names no volume there" {
    mkdir "$share/all"
    printf '[[cluster_volume]]\npath = "external"\nsource = "%s"\n' "$share/all" >>"$BATCHAI_POLICY"
    job 1 "$(mpi 'echo x >$AZ_BATCHAI_OUTPUT_M/x' 1)" \
        '"outputDirectories": [ { "id": "M", "pathPrefix": "$AZ_BATCHAI_MOUNT_ROOT/external", "pathSuffix": "Models" } ]'
    launch
    [ -s "$share/all/slurm/group/workspaces/ws/experiments/exp/jobs/job/0123/outputs/Models/x" ]
}

@test "a job's maxWallClockTime ends its ranks" {
    job 1 "$(mpi 'sleep 60' 1)" '"constraints": { "maxWallClockTime": "PT1S" }'
    run -124 launch
    [[ $output = *"the job was ended after 1 s"* ]]
}

@test "a failing rank is named in the user's stderr, the execution logs and the record" {
    job 2 "$(mpi '[ $RANK != 3 ] || exit 5; sleep 60')"
    fails "rank 3 on $(hostname -s)-1 exited with code 5"
    [ "$status" -eq 5 ]
    [ "$(result .exitCode)" = 5 ]
}

@test "nothing is left of a job whose launcher was killed" {
    job 2 "$(mpi 'echo $AZ_BATCHAI_JOB_MOUNT_ROOT; sleep 300' 2)"
    batchai-launch --local --job "$record/job.json" &
    eventually grep -q batchai "$files/stdout.txt"
    folder=$(head -n 1 "$files/stdout.txt")
    [ -d "$folder" ]
    kill -9 $!
    deadline=10 eventually [ ! -e "$folder" ]
    folder=${folder%/mnt}
    deadline=10 eventually [ ! -e "$folder" ]
    deadline=10 eventually [ ! -e "/dev/shm/${folder##*/}" ]
}

@test "a bad job file is refused with its line and column" {
    job 2 '"horovodSettings": { "processCount": "four" }'
    run -125 launch
    [[ $output = *"job.json:4:"*"processCount"* ]]
}

@test "an unknown share is refused" {
    job 1 "$(mpi true 1)"
    sed -i 's/"data"/"other"/' "$record/job.json" "$BATCHAI_POLICY"
    run -125 launch
}

@test "the plan of a job file shows no secret, and leaves no file" {
    job 1 "$(mpi 'echo hunter2 of $TOKEN' 2)" '"environmentVariables": [ { "name": "COLOUR", "value": "red" } ],
        "secrets": [ { "name": "TOKEN", "value": "hunter2" } ]'
    run -0 launch --dry-run
    [[ $output == *"'echo *** of \$TOKEN'"*"    COLOUR=red"*"    TOKEN='***'"* ]]
    [[ $output != *hunter2* ]]
    [ ! -e "$share/out" ]
    [ ! -e "$record/result.json" ]
}

# kept: the files to which output was redirected, as $output names them.
kept() { grep -o '/var/tmp/batchai-[^ ]*' <<<"$output" | sort -u; }

@test "a job whose stdout.txt cannot be written goes on, and keeps the output on the node" {
    job 1 "$(mpi 'echo one; echo two; echo $RANK >>$AZ_BATCHAI_JOB_MOUNT_ROOT/d/done' 2)"
    mkdir -p "$files"
    ln -s /dev/full "$files/stdout.txt"
    run -123 launch
    [ "$(sort "$share/done")" = $'0\n1' ]
    [[ $output == *"batchai-launch: $files/stdout.txt: no space left on device; the ranks' output goes on in $(hostname -s):/var/tmp/batchai-"* ]]
    [[ $output == *"batchai-launch: the ranks ended well, but some of their output is not in its file: $files/stdout.txt: no space left on device"* ]]
    [ "$(sort "$(kept)")" = $'one\none\ntwo\ntwo' ]
    rm "$(kept)"
    [ "$(result .exitCode)" = 123 ]
}

@test "a rank's own file that cannot be written ends no job, and a failing rank's code is still the job's" {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p logs/rank.1
    ln -s /dev/full logs/rank.1/stdout
    run -7 timeout 30 batchai-launch --local 2 -n 2 --output-dir logs sh -c 'echo text; sleep 0.1; exit $((RANK * 7))'
    [[ $output == *"rank 1 on "*" exited with code 7"*"  $PWD/logs/rank.1/stdout: no space left on device; the ranks' output goes on in $(hostname -s)-1:/var/tmp/"* ]]
    [ "$(cat "$(kept)")" = text ]
    rm "$(kept)"
    [ "$(cat logs/rank.0/stdout)" = text ]
    # A restart does not help.
    run -123 timeout 30 bash -c "exec batchai-launch --local 1 -n 1 --restarts 1 \
        sh -c 'echo text; exit \$((1 - TORCHELASTIC_RESTART_COUNT))' >/dev/full"
    # shellcheck disable=SC2046 # one argument per file
    rm $(kept)
}

# kept_with TEXT: the files in /var/tmp that have it.
kept_with() { grep -rlF --include='batchai-*' -- "$1" /var/tmp 2>/dev/null; }

@test "the name of the kept file is not lost where stdout and stderr are the same full file" {
    export token=$BATS_TEST_TMPDIR
    # shellcheck disable=SC2016 # expanded by the rank
    run -123 timeout 30 bash -c 'exec batchai-launch --local 1 -n 2 sh -c "echo $token one; echo $token two >&2" >/dev/full 2>&1'
    [ -z "$output" ]
    file=$(kept_with "$token one")
    [ -f "$file" ] # one of them
    [ "$(grep -c "^$token \(one\|two\)$" "$file")" = 4 ]
    grep -qxF "batchai-launch: standard output: no space left on device; the ranks' output goes on in $(hostname -s):$file" "$file"
    [[ $(tail -n 1 "$file") == "batchai-launch: the ranks ended well, but some of their output is not in its file: standard output: "* ]]
    rm "$file"
}

@test "the launcher's messages and the name of the kept file are not lost if its stderr is full" {
    export token=$BATS_TEST_TMPDIR
    # shellcheck disable=SC2016 # expanded by the rank
    run -3 timeout 30 bash -c 'exec batchai-launch --local 1 -n 1 sh -c "echo out; echo $token >&2; exit 3" 2>/dev/full'
    [ "$output" = out ]
    file=$(kept_with "$token")
    [ -f "$file" ]
    grep -qx "$token" "$file"
    grep -qF "the ranks' output goes on in $(hostname -s):$file" "$file"
    grep -q '^batchai-launch: rank 0 on .* exited with code 3' "$file"
    rm "$file"
    # The full file is a rank's own: the launcher has only its own messages to keep.
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p logs/rank.0
    ln -s /dev/full logs/rank.0/stdout
    run -123 timeout 30 bash -c 'exec batchai-launch --local 1 -n 1 --output-dir logs echo text 2>/dev/full'
    [ "$output" = text ]
    file=$(kept_with "$PWD/logs/rank.0/stdout: no space left on device")
    [ -f "$file" ]
    output=$(cat "$file")
    # shellcheck disable=SC2046 # one argument per file
    rm $(kept)
    [ ! -e "$file" ]
}

@test "a slow reader does not lose what a rank wrote before it failed" {
    cd "$BATS_TEST_TMPDIR" || return
    timeout 60 batchai-launch --local 1 -n 1 sh -c 'head -c 1000000 /dev/zero; exit 3' 2>errors | (sleep 8 && wc -c) >size
    [ "$(cat size)" = 1000000 ]
    [[ $(cat errors) == "batchai-launch: rank 0 on "*" exited with code 3"* ]]
}

@test "a second signal ends the job without waiting for a slow reader" {
    cd "$BATS_TEST_TMPDIR" || return
    mkfifo pipe
    exec 9<>pipe # it is never read
    timeout 60 batchai-launch --local 1 -n 1 sh -c 'head -c 1000000 /dev/zero; touch written; exit 3' >pipe 2>errors 9>&- &
    eventually test -e written
    sleep 1
    kill -TERM "$(pgrep -P $! -x batchai-launch)"
    code=0
    wait $! || code=$?
    exec 9>&-
    [ "$code" = 3 ]
    grep -qx "batchai-launch: standard output: accepts no more output; the rest of the ranks' output is lost" errors
}

@test "ranks whose reader has ended are ended, and the report blames none of them" {
    cd "$BATS_TEST_TMPDIR" || return
    timeout 30 batchai-launch --local 1 -n 2 sh -c 'while :; do echo text; done' 2>errors | head -n 1
    [ "$(cat errors)" = "batchai-launch: standard output: broken pipe; the program that read it has ended
  2 ranks ended after it" ]
}

@test "closed and full standard streams do not crash the launcher" {
    cd "$BATS_TEST_TMPDIR" || return
    timeout 30 batchai-launch --local 2 cat <&-
    timeout 30 batchai-launch --local 2 true >&-
    timeout 30 batchai-launch --local 2 true 2>&-
    run -125 timeout 30 batchai-launch --local x true 2>/dev/full
    run -1 timeout 30 bash -c 'batchai-launch --local 1 --dry-run true >/dev/full'
    [[ $output == *"standard output: cannot be written" ]]
    mkdir gone && cd gone && rmdir ../gone
    run -125 timeout 30 batchai-launch --local 1 true
    [[ $output == *"batchai-launch: the current directory is gone"* ]]
}

@test "a slow share loses no output of a worker when the parameter server is ended" {
    printf 'import sys, time\nif sys.argv[1] == "ps":\n    time.sleep(1000)\nprint("x" * 500000)\nprint("the end")\n' >"$share/show.py"
    job 2 '"tensorFlowSettings": { "pythonScriptFilePath": "$AZ_BATCHAI_JOB_MOUNT_ROOT/d/show.py", "workerCount": 1, "parameterServerCount": 1,
            "masterCommandLineArgs": "master", "parameterServerCommandLineArgs": "ps" }'
    mkdir -p "$files"
    mkfifo "$files/stdout-wk-0.txt"
    { sleep 8 && cat; } <"$files/stdout-wk-0.txt" >"$BATS_TEST_TMPDIR/seen" &
    reader=$!
    launch
    wait "$reader"
    [ "$(tail -n 1 "$BATS_TEST_TMPDIR/seen")" = "the end" ]
}

@test "a restarted attempt finds the earlier one's outputs, and the first attempt none" {
    job 1 "$(mpi 'echo ${AZ_BATCHAI_PREV_OUTPUT_M-none}; touch $AZ_BATCHAI_OUTPUT_M/$TORCHELASTIC_RESTART_COUNT; ls $AZ_BATCHAI_OUTPUT_M; exit $((1 - TORCHELASTIC_RESTART_COUNT))' 1)" \
        '"outputDirectories": [ { "id": "M", "pathPrefix": "$AZ_BATCHAI_JOB_MOUNT_ROOT/d/models" } ]'
    launch 1 --restarts 1
    [ "$(sed -n '1p;2p' "$files/stdout.txt")" = $'none\n0' ]
    [[ $(sed -n 3p "$files/stdout.txt") = */mnt/d/models/slurm/group/workspaces/ws/experiments/exp/jobs/job/0123/outputs ]]
    [ "$(tail -n 2 "$files/stdout.txt")" = $'0\n1' ]
}

@test "a long .bashrc does not hold up a preparation that adds a line to it" {
    export HOME=$BATS_TEST_TMPDIR/home
    mkdir "$HOME"
    yes '# a line of a long file' | head -c 1000000 >"$HOME/.bashrc"
    printf '\n\n\n' >>"$HOME/.bashrc"
    job 1 "$(mpi 'echo $ADDED:' 1)" '"jobPreparation": { "commandLine": "echo export ADDED=1 >>~/.bashrc" }'
    launch
    [ "$(cat "$files/stdout.txt")" = 1: ]
}

@test "a secret that a rank prints is not in the job's result" {
    job 1 "$(mpi 'sh -c \"echo token \\$TOKEN >&2; exit 3\"')" '"secrets": [ { "name": "TOKEN", "value": "correct-horse" } ]'
    run -3 launch
    [[ $(result .details) == *"token ***"* ]]
    run ! grep -q correct-horse "$record/result.json"
}

@test "a job whose result cannot be written to its record ends as usual, and says so" {
    job 1 "$(mpi 'mkdir ${BATCHAI_JOB_FILE%/*}/result.json' 1)"
    run -0 launch
    [[ $output == *"batchai-launch: the job's result is not in its record: $record/result.json: rename: Is a directory"* ]]
}
