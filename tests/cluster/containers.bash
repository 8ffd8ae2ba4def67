# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # share is set by plugin.bash, job by submit_alice
#
# What the tests of container runtimes have in common: an image, a job that wants one, what its processes find.

load plugin

image=$MINISLURM_DIR/image
export BATCHAI_POLICY=$MINISLURM_DIR/batchai.toml

# A file that is in the image only, and no file of this machine's but the ones that the runtime wants.
make_image() {
    local applet
    mkdir -p "$image"/{bin,dev,etc,proc,sys,tmp,usr} "$image/run/batchai/mnt" "$image$MINISLURM_DIR" "$image$BATCHAI_BUILD"
    ln -s usr/lib usr/lib64 "$image/"
    touch "$image"/etc/{group,hosts,passwd}
    cp "$(command -v busybox)" "$image/bin/busybox"
    for applet in $(busybox --list | grep -vx busybox); do ln -sf busybox "$image/bin/$applet"; done
    printf '#!/bin/sh\nexec /bin/sh "$@"\n' >"$image/bin/bash"
    chmod 755 "$image/bin/bash"
    echo "in the image" >"$image/inside"
}

# charliecloud NAME [ARGUMENT]...: a [container.NAME] of the policy: Charliecloud, with these arguments, too.
charliecloud() {
    printf '[container.%s]\ncommand = [' "$1"
    printf '"%s", ' /usr/bin/ch-run "${@:2}" "--cd={directory}" "--bind={job_temp}:{job_temp}" \
        "--bind={mount_root}:{mount_root}" "--bind=$MINISLURM_DIR:$MINISLURM_DIR" "{image}" --
    printf ']\n'
}

# facts.sh: what both the preparation and the ranks find.
make_facts() {
    cat >"$share/facts.sh" <<'SH'
cat /inside
[ -e /etc/debian_version ] && echo "the host's file"
echo "$(id -u) $PWD $COLOUR $AZ_BATCHAI_NUM_GPUS $BATCHAI_POLICY"
cat "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/code/train.py" "$AZ_BATCHAI_MPI_HOST_FILE"
echo "$1" >>"$AZ_BATCHAI_JOB_TEMP/facts"
SH
}

setup() {
    enter_work
    scripts="\$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare"
}

# container_job IMAGE NODES SETTINGS COMMAND [PREPARATION]: job.json; SETTINGS is customMpi or customToolkit.
container_job() {
    write_job mpi.json "$2" "${5-}"
    jq --arg image "$1" --arg settings "$3Settings" --arg command "$4" '
        del(.properties.horovodSettings)
        | .properties += {containerSettings: {imageSourceRegistry: {image: $image}}, ($settings): {commandLine: $command}}' \
        mpi.json >job.json
}

# run_job [SBATCH_OPTION]...: the job, and where its files are.
run_job() {
    write_script job.sh 'cat /etc/debian_version >host' "${script:-batchai-launch}"
    submit_alice -N "$(jq .properties.nodeCount job.json)" -o out --batchai-job=job.json "$@" job.sh
    state=$(wait_job "$job")
    files=$(stdouterr)
}

# failed_with LINE: nothing ran, and the line is where a failing preparation's is.
failed_with() {
    [ "$state" = FAILED ]
    [ ! -e host ]
    [ "$(one_line out)" = "$1" ]
    find "$share/out" -name 'execution*.log' -exec cat {} + | grep -F "$1"
    cat "$(record)"/events-*.jsonl | jq -r 'select(.kind == "failed").message' | grep -qxF "$1"
}

# container NAME WORD...: a [container.NAME] with this command.
container() {
    printf '[container.%s]\n' "$1"
    jq -cn '"command = \($ARGS.positional)"' -r --args -- "${@:2}"
}

# several RANKS: as many processes of job.json's customMpi.
several() {
    jq ".properties.customMpiSettings.processCount = $1" job.json >several.json
    mv several.json job.json
}

# ---- what must hold with every runtime, for the images "busybox" and "mpi", which has this machine's libraries -------

check_facts() {
    export COLOUR=blue
    container_job busybox 2 customMpi "sh $scripts/facts.sh rank; echo \$RANK \$WORLD_SIZE \$MASTER_ADDR" \
        "sh $scripts/facts.sh prepared"
    several 4
    script='batchai-launch && srun --ntasks-per-node=1 sh -c '\''cp "$AZ_BATCHAI_JOB_TEMP/facts" "facts.$SLURM_NODEID"'\' run_job --gres=gpu:1
    [ "$state" = COMPLETED ]
    [ -s host ]
    uid=$(as_alice id -u)
    printf '%s\n' "in the image" "$uid /run/batchai/mnt/.temp/wd blue 1 $BATCHAI_POLICY" "print('hello')" "n1 slots=1" "n2 slots=1" >expected
    for node in n1 n2; do
        diff expected "$files/stdout-job_prep-$node.txt"
        [ ! -s "$files/stderr-job_prep-$node.txt" ]
    done
    [ ! -s "$files/stderr.txt" ]
    grep -vE '^[0-3] 4 10\.' "$files/stdout.txt" | sort >ranks
    sort expected expected expected expected | diff - ranks
    [ "$(grep -cE '^[0-3] 4 10\.' "$files/stdout.txt")" = 4 ]
    for node in 0 1; do [ "$(cat facts.$node)" = $'prepared\nrank\nrank' ]; done
}

check_first_containers() {
    container_job busybox 2 customMpi 'cat /inside'
    several 8
    run_job
    [ "$state" = COMPLETED ]
    [ "$(grep -cx "in the image" "$files/stdout.txt")" = 8 ]
    [ ! -s "$files/stderr.txt" ]
}

check_exit_codes() {
    container_job busybox 1 customToolkit 'cat /inside; exit 7'
    run_job
    [ "$(job_field "$job" ExitCode)" = 7:0 ]
    [ "$(cat "$files/stdout.txt")" = "in the image" ]
    rm -rf "$share/out" "$(alice_home)/.local" host
    container_job busybox 1 customToolkit true 'cat /inside; exit 3'
    run_job
    failed_with "batchai: n1: job preparation failed with exit code 3; see $files/stderr-job_prep.txt"
    [ "$(cat "$files/stdout-job_prep.txt")" = "in the image" ]
}

# check_shared_memory NODES CHECK...: two ranks on each node, each in a container of its own, run a program of tests/peers.
check_shared_memory() {
    local nodes=$1
    shift
    [ -x "$BATCHAI_BUILD/tests/peers/$1" ] || skip "its MPI compiler is not installed"
    # Between network namespaces of one machine Open MPI's own choice of transports is not stable.
    export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_mpi_yield_when_idle=1
    container_job mpi "$nodes" customMpi "cat /inside; exec $BATCHAI_BUILD/tests/peers/$*"
    several $((nodes * 2))
    run_job
    [ "$state" = COMPLETED ]
    [ "$(grep -c "^rank . of $((nodes * 2)) is fine" "$files/stdout.txt")" = $((nodes * 2)) ]
    [ ! -s "$files/stderr.txt" ]
}

check_scancel() {
    container_job busybox 2 customMpi "touch $work/rank; sleep 1000" "[ -e $work/ready ] || { touch $work/ready; sleep 1000; }"
    several 4
    write_script job.sh batchai-launch
    for sign in ready rank; do
        submit_alice -N 2 -o out --batchai-job=job.json job.sh
        eventually test -e "$sign"
        scancel "$job"
        [ "$(wait_job "$job")" = CANCELLED ]
        eventually nothing_left
    done
}
