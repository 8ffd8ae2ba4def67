# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # inside sets them
#
# What the scripts of packages.bats call on the machine that inside has made for them.
set -euo pipefail
export PATH=$BATCHAI_SOURCE/contrib:$PATH

# install_packages DIRECTORY [PACKAGE]...: those of the directory, by default all, with what they depend on.
install_packages() {
    local files=() package
    for package in "${@:2}"; do files+=("$1/${package}"_*.deb); done
    [ ${#files[@]} -gt 0 ] || files=("$1"/*.deb)
    if [ -e /etc/batchai-clean-root ]; then # tests/packages/run has made it: it has none of the dependencies
        apt-get -q install -y --no-install-recommends --allow-downgrades "${files[@]}" >/tmp/install.log 2>&1
    else
        dpkg --force-unsafe-io -i "${files[@]}" >/tmp/install.log 2>&1
    fi || {
        cat /tmp/install.log
        return 1
    }
}

# enable_plugin: as the manual tells an admin, with mounts that the tests need.
enable_plugin() {
    mkdir -p /etc/slurm/plugstack.conf.d
    echo 'include plugstack.conf.d/*.conf' >/etc/slurm/plugstack.conf
    cp /usr/share/batchai/plugstack.conf.d/batchai.conf /etc/slurm/plugstack.conf.d/
    install -D -m 644 /usr/share/batchai/batchai.toml /etc/batchai/batchai.toml
    printf '[[allow]]\ntype = "tmpfs"\n' >>/etc/batchai/batchai.toml
}

# in_cluster FUNCTION: calls it on the login node of two nodes with this machine's plugstack.conf.
in_cluster() {
    mkdir -p /etc/slurm
    touch /etc/slurm/plugstack.conf
    timeout 240 minislurm -n 2 -g 1 -s PlugStackConfig=/etc/slurm/plugstack.conf -- \
        bash -c '. "$BATCHAI_SOURCE/tests/packages/machine.bash"; "$@"' - "$@"
}

# job_with_mount: a job with a mount on both nodes that ends when /root/go is there.
job_with_mount() {
    # shellcheck disable=SC2016 # the job's
    timeout 60 sbatch --parsable -N 2 -D / -o /root/job.out --batchai-mount=tmpfs:scratch --wrap '
        touch "$AZ_BATCHAI_JOB_MOUNT_ROOT/scratch/before" /root/started
        until [ -e /root/go ]; do sleep 0.1; done
        srun --overlap -N 2 findmnt -n -o FSTYPE "$AZ_BATCHAI_JOB_MOUNT_ROOT/scratch"
        ls "$AZ_BATCHAI_JOB_MOUNT_ROOT/scratch"'
}

# until_true COMMAND...: repeats it, 90 seconds at most.
until_true() {
    local end=$((SECONDS + 90))
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < end)) || { echo "not true in time: $*" && return 1; }
        sleep 0.1
    done
}
