#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The .deb packages: what is in them, and what they do to a machine and its Slurm. Each test has a machine of its own
# (inside), with the files of this one or of $BATCHAI_PACKAGES_ROOT.
# minislurm: none
# needs: root packages

bats_require_minimum_version 1.5.0

export BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-300} # a cluster starts, and packages change, in one test
# pack DIRECTORY [CPACK_OPTION]...: makes packages in the directory.
pack() {
    cpack -G DEB --config "$BATCHAI_BUILD/CPackConfig.cmake" -B "$1" "${@:2}" >"$1.log" 2>&1 || { cat "$1.log" && return 1; }
    rm -rf "$1/_CPack_Packages"
}

setup_file() {
    export BATCHAI_PACKAGES=$BATS_FILE_TMPDIR VERSION
    VERSION=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$BATCHAI_BUILD/CMakeCache.txt")
    pack "$BATCHAI_PACKAGES/now"
    # The next release: the parts that a job uses.
    pack "$BATCHAI_PACKAGES/next" -R 9.0.0 -D 'CPACK_COMPONENTS_ALL=plugin;node;launcher' \
        -D CPACK_DEBIAN_DEBUGINFO_PACKAGE=OFF
}

# on_machine SCRIPT: the script's output; it has the functions of machine.bash.
on_machine() {
    # apt fetches what another root lacks.
    timeout -k 5 "$([ -z "${BATCHAI_PACKAGES_ROOT-}" ] && echo 250 || echo 600)" "$BATCHAI_SOURCE/tests/packages/inside" "${BATCHAI_PACKAGES_ROOT:-/}" \
        bash -c ". \"\$BATCHAI_SOURCE/tests/packages/machine.bash\"; now=\$BATCHAI_PACKAGES/now next=\$BATCHAI_PACKAGES/next; $1"
}

# field PACKAGE NAME: of its control file.
field() { dpkg-deb -f "$BATCHAI_PACKAGES/now/$1"_*.deb "$2"; }

# unpack DIRECTORY FILE.deb...
unpack() {
    local file
    mkdir -p "$1"
    for file in "${@:2}"; do dpkg-deb -x "$file" "$1"; done
}

@test "each part has one package, and no file is in two" {
    local file
    run bash -c 'cd "$BATCHAI_PACKAGES/now" && printf "%s\n" *.deb | sed s/_.*// | sort'
    [ "$(paste -sd ' ' <<<"$output")" = "batchai batchai-horovod batchai-node batchai-slurm-plugin libbatchai-collectives-dev libbatchai-collectives0" ]
    for file in "$BATCHAI_PACKAGES"/now/*.deb; do
        dpkg-deb --fsys-tarfile "$file" | tar -t | grep -v '/$'
    done | sort >"$BATS_TEST_TMPDIR/files"
    [ -z "$(uniq -d "$BATS_TEST_TMPDIR/files")" ]
    # No file of an installation is left out.
    DESTDIR=$BATS_TEST_TMPDIR/root cmake --install "$BATCHAI_BUILD" >/dev/null
    (cd "$BATS_TEST_TMPDIR/root" && find . ! -type d) | sed 's,\(/man/.*\),\1.gz,' | sort >"$BATS_TEST_TMPDIR/installed"
    run comm -13 "$BATS_TEST_TMPDIR/files" "$BATS_TEST_TMPDIR/installed"
    [ -z "$output" ]
}

@test "dependencies are computed, and the plugin's name one Slurm release" {
    local release next
    release=$(slurmd -V | sed -E 's/^[^0-9]*([0-9]+\.[0-9]+).*/\1/')
    next=${release%.*}.$(printf %02d $((10#${release#*.} + 1)))
    [[ $(field batchai-slurm-plugin Depends) = *"batchai-node (= $(field batchai-node Version))"*"slurm-wlm-basic-plugins (>= $release) |"*"slurm-wlm-basic-plugins (<< $next~) |"* ]]
    [[ $(field batchai Depends) = *libhwloc15*libpmix2*libuv1* ]]
    [[ $(field libbatchai-collectives0 Depends) = *libpmix2*libucx0* ]]
}

@test "no program that is installed has symbols or names a directory of the build" {
    local root=$BATS_TEST_TMPDIR/root
    unpack "$root" "$BATCHAI_PACKAGES"/now/*.deb
    find "$root" -type f -exec file {} + | grep ELF >"$BATS_TEST_TMPDIR/programs"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/programs")" -eq 9 ]
    run grep 'not stripped' "$BATS_TEST_TMPDIR/programs"
    [ -z "$output" ]
    # The checkout itself may be in a directory such as /batchai, whose name is a part of others.
    local of=() folder
    for folder in sys job spank launcher collectives build cmake tests contrib; do of+=(-e "$BATCHAI_SOURCE/$folder/"); done
    run grep -rlF -e "$BATCHAI_BUILD" "${of[@]}" "$root"
    [ -z "$output" ]
}

@test "debug symbols are in packages of their own, by the programs' build ids" {
    local root=$BATS_TEST_TMPDIR/root id
    unpack "$root" "$BATCHAI_PACKAGES"/now/batchai-slurm-plugin_*.deb "$BATCHAI_PACKAGES"/now/batchai-slurm-plugin-dbgsym_*
    id=$(readelf -n "$root"/usr/lib/*/slurm/spank_batchai.so | sed -n 's/.*Build ID: //p')
    readelf -S "$root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" | grep -q debug_info
}

@test "installed commands, library and Python package run, and pkg-config and CMake find the library" {
    run on_machine '
        install_packages "$now"
        batchai --version
        cd /tmp
        batchai-launch --local 2 sh -c "echo rank \$PMIX_RANK"
        batchai-launch --local 2 python3 -c "
import numpy
from horovod.common import basics
basics.init()
print(basics.rank(), basics.size(), flush=True)
basics.shutdown()"
        echo "version $(pkg-config --modversion batchai-collectives)"
        cat >check.c <<"C"
#include <batchai/collectives.h>
int main(void) { return batchai_coll_version() == 0; }
C
        cc check.c $(pkg-config --cflags --libs batchai-collectives) -o by_pkg_config
        ./by_pkg_config
        printf "%s\n" "cmake_minimum_required(VERSION 3.16)" "project(check C)" "find_package(batchai '"${VERSION%.*}"' REQUIRED)" \
            "add_executable(check check.c)" "target_link_libraries(check batchai::collectives)" >CMakeLists.txt
        cmake -B build . >/dev/null
        cmake --build build >/dev/null
        build/check
        ls /usr/share/doc/batchai /usr/share/bash-completion/completions/batchai /usr/share/man/man1/batchai.1.gz'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output = *"rank 0"* && $output = *"rank 1"* ]]
    [[ $output = *"0 2"* && $output = *"1 2"* ]]
    [[ $output = *"version $VERSION"*changelog.gz*copyright* ]]
}

@test "an installed plugin is not loaded before an admin adds its line, and gives a job its mounts then" {
    # shellcheck disable=SC2016 # the machine's
    run on_machine '
        install_packages "$now"
        before() { timeout 60 srun -N 2 hostname; echo "options: $(timeout 60 srun --help | grep -c -- --batchai-)"; }
        after() { timeout 60 srun -N 2 --batchai-mount=tmpfs:scratch sh -c "findmnt -n -o FSTYPE \$AZ_BATCHAI_JOB_MOUNT_ROOT/scratch"; batchai admin check; }
        export -f before after
        in_cluster before
        enable_plugin
        in_cluster after'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output = *n1*n2* || $output = *n2*n1* ]]
    [[ $output = *"options: 0"* ]]
    [ "$(grep -c '^tmpfs$' <<<"$output")" = 2 ]
    [[ $output != *error* ]]
}

@test "a job that runs while packages are upgraded or downgraded keeps its mounts and ends well" {
    # shellcheck disable=SC2016 # the machine's
    run on_machine '
        export now next
        through() {
            from=$1 to=$2
            rm -f /root/go /root/started
            job=$(job_with_mount)
            until_true test -e /root/started
            install_packages "$to"
            touch /root/go
            until_true sh -c "! timeout 30 squeue -h -j $job | grep ."
            cat /root/job.out
            for node in n1 n2; do until_true minislurm exec "$node" sh -c "! ls /run/batchai/jobs | grep ."; done
            timeout 60 srun -N 2 --batchai-mount=tmpfs:scratch true
            echo "$(batchai --version | head -n 1), package $(dpkg-query -W -f "\${Version}" batchai-slurm-plugin)"
        }
        both() { through "$now" "$next"; through "$next" "$now"; }
        export -f through both
        install_packages "$now"
        enable_plugin
        in_cluster both'
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^tmpfs$' <<<"$output")" = 4 ]
    [ "$(grep -c '^before$' <<<"$output")" = 2 ]
    [[ $output = *"package 9.0.0-1"*"package $VERSION-1"* ]]
}

@test "removal takes the plugin's line out first, and leaves Slurm working" {
    # shellcheck disable=SC2016 # the machine's
    run on_machine '
        removal() {
            timeout 60 srun --batchai-mount=tmpfs:scratch true
            dpkg --force-unsafe-io -r batchai-slurm-plugin
            timeout 60 srun -N 2 hostname
            timeout 60 sbatch -W -D / -o /dev/null --wrap true
            cat /etc/slurm/plugstack.conf.d/*.conf
            # What removal prevents: the line without the file.
            sed -i "s/^.*: required /required /" /etc/slurm/plugstack.conf.d/batchai.conf
            timeout 60 srun hostname || echo "srun fails"
        }
        export -f removal
        install_packages "$now"
        enable_plugin
        in_cluster removal'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output = *"/etc/slurm/plugstack.conf.d/batchai.conf: the plugin's line is a comment now"* ]]
    [[ $output = *"# batchai-slurm-plugin was removed: required /usr/lib/"*"/slurm/spank_batchai.so policy="* ]]
    [[ $output = *"srun fails"* ]]
}

@test "rpm installs the RPM packages, a job has its mounts, and removal takes the plugin's line out" {
    command -v rpmbuild >/dev/null || skip "rpm is not installed"
    [ -z "${BATCHAI_PACKAGES_ROOT-}" ] || skip "a clean Debian has nothing of what RPM packages need: tests/run.sh runs this"
    cpack -G RPM --config "$BATCHAI_BUILD/CPackConfig.cmake" -B "$BATCHAI_PACKAGES/rpm" \
        -D 'CPACK_COMPONENTS_ALL=plugin;node;launcher' -D CPACK_RPM_DEBUGINFO_PACKAGE=OFF >"$BATS_TEST_TMPDIR/cpack.log"
    # Debian has no RPM packages of what they need.
    # shellcheck disable=SC2016 # the machine's
    run on_machine '
        by_rpm() {
            timeout 60 srun -N 2 --batchai-mount=tmpfs:scratch sh -c "findmnt -n -o FSTYPE \$AZ_BATCHAI_JOB_MOUNT_ROOT/scratch"
            timeout 60 batchai-launch --local 1 -n 1 echo launched
            rpm -e batchai-slurm-plugin
            timeout 60 srun -N 2 echo no plugin
            cat /etc/slurm/plugstack.conf.d/*.conf
            rpm -qa | grep batchai
        }
        export -f by_rpm
        rpm -i --nodeps "$BATCHAI_PACKAGES"/rpm/*.rpm
        rpm -V --nodeps batchai batchai-node batchai-slurm-plugin
        enable_plugin
        in_cluster by_rpm'
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^tmpfs$' <<<"$output")" = 2 ]
    [ "$(grep -c '^no plugin$' <<<"$output")" = 2 ]
    [[ $output = *launched*"# batchai-slurm-plugin was removed: required /usr/lib"*batchai-node-* ]]
}

@test "removal is refused on a node whose plugstack.conf comes from slurmctld" {
    # shellcheck disable=SC2016 # the machine's
    run on_machine '
        install_packages "$now"
        mkdir -p /run/slurm/conf
        cp /usr/share/batchai/plugstack.conf.d/batchai.conf /run/slurm/conf/plugstack.conf
        dpkg --force-unsafe-io -r batchai-slurm-plugin && exit 1
        ls /usr/lib/*/slurm/spank_batchai.so
        echo "# nothing" >/run/slurm/conf/plugstack.conf
        dpkg --force-unsafe-io -r batchai-slurm-plugin'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output = *"Take the line out of the file on slurmctld's machine"*/slurm/spank_batchai.so*Removing* ]]
}

@test "removal finds the line in an included file and by its bare name, and touches no other plugin" {
    # shellcheck disable=SC2016 # the machine's
    run on_machine '
        install_packages "$now"
        mkdir -p /etc/slurm/d /run/slurm/conf
        printf "%s\n" "include d/*" "include plugstack.conf" >/etc/slurm/plugstack.conf
        printf "%s\n" "required spank_batchai.so" "required /opt/other/spank_batchai.so" >/etc/slurm/d/a.conf
        echo "include /etc/slurm/d/a.conf" >/run/slurm/conf/plugstack.conf
        mkdir -p /run/batchai/jobs/7
        dpkg --force-unsafe-io -r batchai-slurm-plugin && exit 1
        cat /etc/slurm/d/a.conf
        rmdir /run/batchai/jobs/7
        dpkg --force-unsafe-io -r batchai-slurm-plugin
        ls -A /etc/slurm/d
        cat /etc/slurm/d/a.conf'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output = *"drain the node"*$'\n'"required spank_batchai.so"$'\n'* ]]
    [[ $output = *"the plugin's line is a comment now"*$'\n'"a.conf"$'\n'"# batchai-slurm-plugin was removed: required spank_batchai.so"$'\n'"required /opt/other/spank_batchai.so" ]]
}

@test "a plugin of another Slurm release is not installed" {
    pack "$BATS_TEST_TMPDIR/other" -D CPACK_COMPONENTS_ALL=plugin -D CPACK_BATCHAI_SLURM=29.05 -D CPACK_BATCHAI_NEXT_SLURM=29.06
    mv "$BATS_TEST_TMPDIR/other" "$BATCHAI_PACKAGES/other"
    # shellcheck disable=SC2016 # the machine's
    run on_machine '
        install_packages "$now" batchai-node
        ! install_packages "$BATCHAI_PACKAGES/other" batchai-slurm-plugin || exit 1'
    rm -r "$BATCHAI_PACKAGES/other"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output = *"slurm-wlm-basic-plugins (>= 29.05)"* ]]
}

@test "lintian finds nothing that is not explained" {
    command -v lintian >/dev/null || skip "lintian is not installed"
    run lintian --allow-root --fail-on error,warning --suppress-tags-from-file "$BATCHAI_SOURCE/tests/packages/lintian-explained" \
        "$BATCHAI_PACKAGES"/now/*.deb
    echo "$output"
    [ "$status" -eq 0 ]
}
