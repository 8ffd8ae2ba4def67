#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Pyxis' options of srun beside the plugin. Pyxis itself cannot be installed here: a plugin with its options tells what they
# say and what Pyxis would find.
# minislurm: -n 2 -p "required $BATCHAI_BUILD/tests/pyxis_options.so"
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # share is set by plugin.bash, job by submit_alice

load plugin

setup() { enter_work; }

@test "a job's own srun takes Pyxis' options, whose container would be made before the job's mounts are there" {
    write_job job.json 2
    install -m 666 /dev/null log
    write_script job.sh "export PYXIS_LOG=$work/log" \
        'srun --container-image=nvcr.io#nvidia/pytorch:21.12-py3 --container-mounts=/data:/data:ro --container-workdir=/data \
            ls "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/code"' 'echo "$?"'
    submit_alice -N 2 -o out --batchai-job=job.json job.sh
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat out)" = $'train.py\ntrain.py\n0' ]
    options='nvcr.io#nvidia/pytorch:21.12-py3 /data:/data:ro /data'
    printf '%s\n' "entered $options mounted"{,} "made $options not mounted"{,} >expected
    sort log | diff expected -
}
