#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job's container: the site's own runtime, here Charliecloud, around preparation and ranks, as the user.
# minislurm: -n 2 -g 1
# plugin: policy=/run/minislurm/batchai.toml
# needs: container
#
# shellcheck disable=SC2154 # share is set by plugin.bash, job by submit_alice; status and output by run

load containers

setup_file() {
    make_site
    make_image
    {
        charliecloud charliecloud
        charliecloud with_libraries --bind=/usr:/usr --bind=/etc:/etc "--bind=$BATCHAI_BUILD:$BATCHAI_BUILD" \
            --set-env=UCX_POSIX_USE_PROC_LINK=n --set-env=OMPI_MCA_btl_vader_single_copy_mechanism=none
        charliecloud forgetful "--unset-env=*"
        cat <<TOML
[container.gone]
command = ["/no/such/runtime", "{image}"]
[[image]]
name = "busybox*"
run_on = "charliecloud"
image = "$image"
[[image]]
name = "mpi"
run_on = "with_libraries"
image = "$image"
[[image]]
name = "local"
run_on = "charliecloud"
image = "/tmp/image"
[[image]]
name = "empty"
run_on = "forgetful"
image = "$image"
[[image]]
name = "gone"
run_on = "gone"
image = "$image"
[[image]]
name = "host"
TOML
    } >>"$BATCHAI_POLICY"
    make_facts
}

@test "preparation and ranks run in the job's container, as the user, with the node's paths and variables" { check_facts; }

@test "exit codes pass, the first node's command runs there too, and other images stay on the host" {
    container_job busybox:1.35 1 customToolkit 'cat /inside; exit 7'
    run_job
    [ "$state" = FAILED ]
    [ "$(job_field "$job" ExitCode)" = 7:0 ]
    [ "$(cat "$files/stdout.txt")" = "in the image" ]
    rm -rf "$share/out"
    container_job host 1 customToolkit 'cat /inside || exec /no/such/program'
    run_job
    [ "$(job_field "$job" ExitCode)" = 127:0 ]
}

@test "a preparation's command is not among the arguments of a process in or outside of its container" {
    needle=n33dle$RANDOM$RANDOM$RANDOM
    container_job busybox:1.35 2 customMpi "touch $work/rank\$BATCHAI_PREPARATION" "$(waiting_preparation $needle)"
    write_script job.sh batchai-launch
    submit_alice -N 2 -o out --batchai-job=job.json job.sh
    eventually test -e preparing.n1 -a -e preparing.n2
    run shown_in_ps "$needle"
    [ "$output" = "" ]
    touch go
    [ "$(wait_job "$job")" = COMPLETED ]
    [ -e rank ]
    rm -r go preparing.* "$share/out"
    as_alice batchai-launch --local --job job.json &
    eventually test -e "preparing.$(hostname)"
    run shown_in_ps "$needle"
    [ "$output" = "" ]
    touch go
    wait $!
}

@test "contrib/sbatch/container.sbatch runs a job's ranks in its image" {
    container_job busybox:1.35 2 customMpi 'cat /inside'
    submit_alice -o out "$BATCHAI_SOURCE/contrib/sbatch/container.sbatch"
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(sort -u "$(stdouterr)/stdout.txt")" = "in the image" ]
}

@test "a runtime that does not pass the environment on fails the preparation" {
    container_job empty 1 customMpi true true
    run_job
    failed_with "batchai: n1: job preparation failed with exit code 2; see $files/stderr-job_prep.txt"
    grep -F "BATCHAI_PREPARATION: not passed on by the container runtime" "$files/stderr-job_prep.txt"
}

@test "a preparation that fails in its container is one line, the same everywhere" {
    container_job busybox:1.35 2 customMpi true "cat /inside; echo 'it'\\\\''s wrong' >&2; exit 3"
    run_job
    for node in n1 n2; do
        ! grep -q "^batchai: $node" out || break
    done
    failed_with "batchai: $node: job preparation failed with exit code 3; see $files/stderr-job_prep-$node.txt"
    [ "$(cat "$files/stdout-job_prep-$node.txt")" = "in the image" ]
    [ "$(cat "$files/stderr-job_prep-$node.txt")" = "it's wrong" ]
}

@test "PMIx, and memory of a node, between ranks in containers of their own: Open MPI" { check_shared_memory 2 openmpi_check 4 2; }

@test "PMI-1, and memory of a node, between ranks in containers of their own: MPICH" { check_shared_memory 1 mpich_check 2 2; }

@test "PMIx, and memory of a node, between ranks in containers of their own: batchai's library" {
    check_shared_memory 2 collectives_check matrix
}

@test "scancel ends what runs in the container, preparation and ranks" { check_scancel; }

@test "an image or a runtime that a node lacks is named before the job runs" {
    on_node n1 cp -r "$image" /tmp/image
    container_job local 2 customMpi true true
    run_job
    on_node n1 rm -r /tmp/image
    failed_with "batchai: n2: image local: /tmp/image: No such file or directory"
    rm -rf "$share/out" "$(alice_home)/.local"
    container_job gone 1 customMpi true true
    run_job
    failed_with "batchai: n1: container gone: /no/such/runtime: No such file or directory"
    run -1 batchai admin check
    [[ $output = *"error    container  gone: /no/such/runtime: No such file or directory"* ]]
    [[ $output = *"error    image      local: /tmp/image: No such file or directory"* ]]
}

@test "only the site chooses the image and its runtime" {
    sed "s|^image = .*|image = \"/\"|" "$BATCHAI_POLICY" >policy.toml
    container_job busybox:1.35 1 customMpi 'cat /inside' 'cat /inside'
    BATCHAI_POLICY=$work/policy.toml run_job
    [ "$state" = COMPLETED ]
    [ "$(cat "$files"/stdout{,-job_prep}.txt)" = $'in the image\nin the image' ]
    rm -rf "$share/out" "$(alice_home)/.local" host
    submit_alice -H -N 1 -o out --batchai-job=job.json --wrap 'touch host'
    jq '.properties.containerSettings.imageSourceRegistry.image = "mine"' "$(record)/job.json" >mine.json
    cp mine.json "$(record)/job.json"
    scontrol release "$job"
    state=$(wait_job "$job")
    failed_with "batchai: n1: image 'mine' is unknown here: no [[image]] of $BATCHAI_POLICY names it"
}

@test "job check and a dry run tell which container it is, and a job without Slurm runs in it" {
    container_job busybox:1.35 2 customMpi 'cat /inside; echo $RANK' 'cat /inside'
    run -0 as_alice batchai job check job.json
    [[ $output = job.json:*"image busybox:1.35: runs in charliecloud from $image" ]]
    run --separate-stderr as_alice batchai-launch --local --dry-run --job job.json
    [[ $output = "every rank: /usr/bin/ch-run --cd=/"*" --bind=/"*" $image -- /bin/bash -c 'cat /inside; echo "* ]]
    as_alice batchai-launch --local --job job.json
    [ "$(sort "$(find "$share/out" -name stdout.txt)")" = $'0\n1\nin the image\nin the image' ]
    [ "$(cat "$(stdouterr)"/stdout-job_prep-*.txt)" = $'in the image\nin the image' ]
}
