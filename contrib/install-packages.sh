#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# install-packages.sh build|run|plugin|test [--names|--missing] - the Debian packages that batchai needs, by name.
#
#   build    packages to compile it
#   run      build, and the packages of the quick start: Slurm, Python, PyTorch
#   plugin   build, Slurm, and the packages for the plugin's and the launcher's tests
#   test     all of these, and the other packages for tests/run.sh
#   --names    prints the names and installs nothing
#   --missing  prints the names of those that are not installed, and installs nothing
#
# For Debian 12, the baseline. Debian 13 and newer have no clang 14: there, lint and fuzz tests are skipped.
# Installs only missing packages, as root or through sudo.
# Exit: apt-get's; 2 wrong usage; 3 packages are missing, and the user cannot install them.
set -euo pipefail

# CUDA and NCCL, for collectives on GPUs, are optional, and NVIDIA's own packages.
build=(
    cmake g++ ninja-build pkg-config
    libslurm-dev # the plugin interface
    libpmix-dev  # the agents are PMIx servers, the collectives PMIx clients
    libucx-dev   # the wire between nodes
    libhwloc-dev # binding
    libuv1-dev   # the agents' event loop
    libssl-dev   # TLS between the launcher and its agents
    libfmt-dev libcli11-dev
    nlohmann-json3-dev libtomlplusplus-dev # job.json, the site policy
    libsqlite3-dev # job history
    libmd-dev      # a policy's digest
    dpkg-dev file  # packages of it
)
slurm=(
    slurmctld slurmd slurm-client munge iproute2
    python3 python3-jmespath # --query, evaluated as az does
)
run=(
    python3-torch python3-h5py python3-numpy
    libopenblas0-openmp # PyTorch trains twice as fast with it as with the reference BLAS
)
plugin=(
    bats bsdutils procps jq
    acl # an overlay of a directory with an access list
    squashfs-tools # images to mount
    fuse3 sshfs rclone squashfuse s3fs # programs that mount
    openssh-server samba # what sshfs and rclone mount
    curl # a client for the server that Horovod's ranks use
    strace # kills the root helper at each of its system calls
    openmpi-bin libopenmpi-dev python3-mpi4py # launchers in a job's script; unmodified MPI programs
)
test=(
    libboost-test-dev
    mpich libmpich-dev # programs of another MPI; mpicc and mpirun stay Open MPI's
    gfortran # a program that traps floating-point errors
    libgloo-dev # benchmarks compare the collectives with it, both MPIs and PyTorch
    gdb # stacks of ranks that hang
    python3-pip # fetches newer libraries for tests/peers/environments.sh
    shellcheck codespell mandoc diction
    ccache
    charliecloud-runtime busybox-static # a job's container, and its contents
    podman runc uidmap # another runtime of it; runc works with cgroups of version 1 too
    user-mode-linux kmod # a kernel with network file systems, for tests/guest
    nfs-ganesha nfs-ganesha-vfs rpcbind nfs-common # its servers, besides samba
    mmdebstrap # other releases, for tests/debian and tests/packages
    lintian rpm # packages
    zsh fish environment-modules # completion by other shells than bash, the module file
)

clang=(
    clang-format-14 clang-tidy-14
    clang-14 libclang-rt-14-dev # libFuzzer
)
release=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
[ "$release" != bookworm ] || test+=("${clang[@]}")

case ${1-} in
    build) wanted=("${build[@]}") ;;
    run) wanted=("${build[@]}" "${slurm[@]}" "${run[@]}") ;;
    plugin) wanted=("${build[@]}" "${slurm[@]}" "${plugin[@]}") ;;
    test) wanted=("${build[@]}" "${slurm[@]}" "${run[@]}" "${plugin[@]}" "${test[@]}") ;;
    -h | --help)
        sed -n '3,14s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *)
        echo "install-packages.sh: expected build, run, plugin or test; see --help" >&2
        exit 2
        ;;
esac

if [ "${2-}" = --names ]; then
    printf '%s\n' "${wanted[@]}"
    exit
fi

missing=()
for package in "${wanted[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "${2-}" = --missing ]; then
    printf '%s\n' "${missing[@]}"
    exit
fi

as_root=()
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || {
        echo "install-packages.sh: packages are missing, and there is no sudo here. An admin installs them by" >&2
        echo "apt-get install --no-install-recommends ${missing[*]}" >&2
        exit 3
    }
    as_root=(sudo)
fi
# Start no daemon of Slurm and no server for the tests.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" install -m 755 /dev/stdin "$policy"
    trap '"${as_root[@]}" rm -f "$policy"' EXIT
fi
echo "installing ${#missing[@]} packages: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
