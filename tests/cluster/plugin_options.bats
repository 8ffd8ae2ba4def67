#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The plugin's options on the login node: help, checks, and refusals before a submission.
# minislurm: -n 2
# plugin: policy=/run/minislurm/batchai.toml

load plugin

setup() { enter_work; }

@test "sbatch, srun and salloc show the four options in their help" {
    for command in sbatch srun salloc; do
        run "$command" --help
        for option in --batchai-job=FILE --batchai-mount=SOURCE:TARGET --batchai-prep=COMMAND --batchai-output=DIR; do
            [[ $output == *"$option"*"[batchai]"* ]]
        done
    done
}

@test "the plugin has no C++ library and exports only Slurm's entry points" {
    run ldd "$BATCHAI_BUILD/lib/spank_batchai.so"
    [[ $output != *stdc++* && $output != *libgcc* ]]
    run bash -c "nm -D --defined-only '$BATCHAI_BUILD/lib/spank_batchai.so' | awk '{ print \$3 }' | grep -vE '^(plugin_(name|type|version)|spank_plugin_version|slurm_spank_[a-z_]+)\$'"
    [ -z "$output" ]
}

@test "slurmd's log says which plugin and which site policy a node has" {
    # There was none yet when the cluster started.
    grep -q 'batchai [0-9.]*: site policy: /run/minislurm/batchai.toml: No such file' "$MINISLURM_DIR/log/slurmd-n1.log"
    run on_node n1 batchai-helper sweep --policy "$MINISLURM_DIR/batchai.toml" # as slurmd starts it
    [[ $output == "batchai "*": site policy $MINISLURM_DIR/batchai.toml, SHA-256 $(sha256sum <"$MINISLURM_DIR/batchai.toml" | cut -c-64)" ]]
}

@test "a job that uses no option runs as without the plugin" {
    run as_alice srun -N 2 sh -c 'env | grep -cE "AZ_BATCHAI|NODE_READY"; true'
    [ "$output" = $'0\n0' ]
}

@test "a job file with a syntax error is refused before anything is submitted" {
    echo '{ "properties": { "nodeCount": ' >bad.json
    run -0 refused as_alice sbatch --batchai-job=bad.json --wrap true
    [[ $output == "batchai: bad.json:"* ]]
    [ -z "$(squeue -h)" ]
}

@test "a job file that is not there is refused before anything is submitted" {
    run -0 refused as_alice srun --batchai-job=none.json true
    [[ $output == *none.json*"No such file"* ]]
}

@test "a nodeCount larger than the cluster is refused before anything is submitted" {
    write_job job.json 3
    run -0 refused as_alice sbatch -N 2 --batchai-job=job.json --wrap true
    [[ $output == *nodeCount* ]]
}

@test "another number of nodes than the job file's is refused before anything is submitted" {
    write_job job.json 2
    write_script one '#SBATCH -N1' true
    write_script two '#SBATCH -N2' true
    for words in "-N 1 two" "--nodes=1 two" "-N3-4 two" one; do
        # shellcheck disable=SC2086 # words
        run -0 refused as_alice sbatch --batchai-job=job.json -o out $words
        [[ $output == "batchai: "*"job.json: properties.nodeCount is 2, but the submission asks for "*" (-N): submit with -N 2"* ]]
    done
    for words in "-N 2 one" "-N1-2 one" two; do
        # shellcheck disable=SC2086
        submit_alice --batchai-job=job.json -o out $words
        [ "$(wait_job "$job")" = COMPLETED ]
    done
}

@test "a share that the policy does not name is refused before anything is submitted" {
    write_job job.json 1
    sed -i 's/net.myshare/net\/othershare/' job.json
    run -0 refused as_alice sbatch --batchai-job=job.json --wrap true
    [[ $output == *othershare* ]]
}

@test "a script that the login node sees is not there is refused before anything is submitted" {
    write_job job.json 1 "" '$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/code/none.py'
    run -0 refused as_alice sbatch --batchai-job=job.json --wrap true
    [[ $output == *none.py* ]]
}

@test "a mount outside of the allowlist is refused before anything is submitted" {
    run -0 refused as_alice sbatch --batchai-mount="$secret:x" --wrap true
    [[ $output == "batchai: --batchai-mount: "*"$secret"* ]]
}

@test "options of more than 64 KiB are refused before anything is submitted" {
    run -0 refused as_alice sbatch --batchai-prep="$(printf 'x%.0s' {1..70000})" --wrap true
    [[ $output == *"64 KiB"* ]]
}

@test "an empty option is refused before anything is submitted" {
    for option in job mount prep output; do
        for command in 'sbatch --wrap true' 'salloc true' 'srun true'; do
            # shellcheck disable=SC2086 # words
            run -0 refused as_alice ${command/ / --batchai-$option= }
            [ "$output" = "batchai: --batchai-$option: is empty: give it a value" ]
        done
    done
}

@test "a job file may have any name that a file can have" {
    long=$(printf 'l%.0s' {1..100})
    for name in 'my job (1)' 'é' $'bad\xff' "$long" '-' '...'; do
        write_job "./$name.json" 1
        run -0 as_alice srun -Q --batchai-job="./$name.json" sh -c 'cd "$AZ_BATCHAI_STDOUTERR_DIR/../.." && basename "$PWD"'
        [[ $output =~ ^[A-Za-z0-9_.-]{1,64}$ ]]
        case $name in
            my*) [ "$output" = my_job__1_ ] ;;
            l*) [ "$output" = "${long:0:64}" ] ;;
        esac
    done
}

@test "a line end in what travels to the nodes is refused before anything is submitted" {
    write_job job.json 1
    XDG_DATA_HOME=$work/$'x\ny' run refused as_alice srun -N 1 --batchai-job=job.json touch started
    [ "$output" = "batchai: --batchai-job: XDG_DATA_HOME: has a line end in it" ]
    mkdir -m 777 $'x\ny'
    cd $'x\ny'
    run refused as_alice srun -N 1 --batchai-output=logs --batchai-prep=true touch started
    [ "$output" = "batchai: --batchai-output: the current directory has a line end in its name" ]
    [ ! -e started ]
    [ ! -e ../started ]
}

@test "a submission from a directory that is gone is refused with one line" {
    mkdir gone # sbatch has its own words for that; srun has not
    run -0 refused bash -c 'cd gone && rmdir ../gone && batchai-check --policy "$MINISLURM_DIR/batchai.toml" --output logs'
    [ "$output" = "batchai: --batchai-output: logs: the current directory: No such file or directory" ]
}

@test "a mistake in the policy is reported to the user of the refused job" {
    echo 'nonsense = [' >>"$MINISLURM_DIR/batchai.toml"
    run refused as_alice sbatch --batchai-prep=true --wrap true
    make_site
    [ "$status" = 0 ]
    [[ $output == *batchai.toml* ]]
}

@test "srun in a job cannot set the job up with other options" {
    run ! as_alice salloc -N 1 --batchai-mount="$open:a" srun --batchai-mount="$data:b:ro" true
    [[ $output == *"batchai: --batchai-mount: the job is set up already: give the option to sbatch or salloc"* ]]
}

@test "a job file is not refused where the parent of sbatch ignores SIGCHLD" {
    write_job job.json 1
    run as_alice python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execvp(sys.argv[1], sys.argv[1:])' sbatch -N 1 -o out --batchai-job=job.json --wrap true
    [ "$status" = 0 ]
    [[ $output =~ Submitted\ batch\ job\ ([0-9]+) ]]
    [ "$(wait_job "${BASH_REMATCH[1]}")" = COMPLETED ]
}

@test "a step's node count is not compared with the job file's nodeCount" {
    write_job job.json 2
    run as_alice salloc -Q -N 2 srun -Q -N 1 --batchai-job=job.json true
    [[ $output != *"the submission asks for"* ]]
}

@test "a job file's nodeCount is not compared with the -N of a component after hetjob" {
    write_job job.json 1
    write_script job.sh '#SBATCH -N1' '  # an indented comment' '   ' '#SBATCH hetjob' '#SBATCH -N2' true
    run as_alice sbatch --test-only --batchai-job=job.json job.sh
    [[ $output != *"the submission asks for"* ]]
}

@test "sbatch prints the output of each array task, for each form of --array" {
    write_job job.json 1
    for form in --array=0-1 --arr=0-1; do
        run as_alice sbatch -H -N 1 -o out "$form" --batchai-job=job.json --wrap true
        [[ $output == *"-TASK/"* ]]
    done
    SBATCH_ARRAY_INX=0-1 run as_alice sbatch -H -N 1 -o out --batchai-job=job.json --wrap true
    scancel --user "$(as_alice id -un)"
    [[ $output == *"-TASK/"* ]]
}
