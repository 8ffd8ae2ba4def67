# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Debians for run, wheel and tests/debian/run, each unpacked once into ~/.cache/batchai-packages: remove the directory to
# have it anew.
roots=${XDG_CACHE_HOME:-$HOME/.cache}/batchai-packages

# clean_root RELEASE: Debian with Slurm and a compiler, and with none of batchai's dependencies. Its lists of packages are
# new. Says why where that is not possible, and fails.
clean_root() {
    local root=$roots/$1 log
    log=$(mktemp)
    if [ ! -d "$root" ]; then
        command -v mmdebstrap >/dev/null || { echo "mmdebstrap is not installed" && return 1; }
        rm -rf "$root.new"
        mkdir -p "$root.new"
        # A mirror of sid may be a few weeks behind; nothing but tests runs in it.
        mmdebstrap --quiet --variant=apt --skip=cleanup/apt/lists --aptopt="APT::Default-Release \"$1\"" \
            --aptopt='Acquire::Check-Valid-Until "false"' "$1" "$root.new" \
            --include=slurmctld,slurmd,slurm-client,munge,iproute2,mount,procps,gcc,libc6-dev,cmake,make,pkg-config >"$log" 2>&1 ||
            { echo "Debian $1 cannot be unpacked: $(tail -n 1 "$log")" && return 1; }
        echo '127.0.0.1 localhost' >"$root.new/etc/hosts"
        touch "$root.new/etc/batchai-clean-root" # machine.bash: apt installs here
        mv "$root.new" "$root"
    fi
    cp -L /etc/resolv.conf "$root/etc/"
    chroot "$root" apt-get -q update >"$log" 2>&1 || { echo "apt cannot fetch lists: $(tail -n 1 "$log")" && return 1; }
    rm "$log"
}

# test_root RELEASE: a copy of the clean one, RELEASE-tests, with what a clone of batchai needs. Tests install more in it.
# Says why where that is not possible, and fails.
test_root() {
    local root=$roots/$1-tests log
    if [ ! -d "$root" ]; then
        clean_root "$1" || return
        log=$(mktemp)
        rm -rf "$root.new"
        cp -a "$roots/$1" "$root.new" || { echo "$roots/$1 cannot be copied" && return 1; }
        rm "$root.new/etc/batchai-clean-root"
        chroot "$root.new" apt-get -q install -y --no-install-recommends git ca-certificates >"$log" 2>&1 ||
            { echo "apt cannot install: $(tail -n 1 "$log")" && return 1; }
        rm "$log"
        mv "$root.new" "$root"
    fi
    cp -L /etc/resolv.conf "$root/etc/"
}
