#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The commands of the admin's pages about NFS and SMB print what the pages show (tests/README.md).
# minislurm: -n 1
# needs: nfs smb
# guest: yes
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # set in network.bash and what it loads

load network

setup_file() {
    make_network_site 60
    mkdir -p "$MINISLURM_DIR/cluster"
    cp -rp "$credentials" "$MINISLURM_DIR/cluster/credentials"
    cp -p "$credentials/site" "$MINISLURM_DIR/cluster/credentials/results"
    echo data >"$export_dir/data/file"
}

setup() { enter_work; }

# page FILE: takes the policy that docs/FILE shows into force, with these servers, and runs the page's commands as alice.
page() {
    sed -n '/^```toml$/,/^```$/ { /^```/!p }' "$BATCHAI_SOURCE/docs/$1" |
        sed -e "s,/etc/batchai/credentials,$MINISLURM_DIR/cluster/credentials," -e 's,nfs.example.org:,10.87.0.1:,' \
            -e 's,//smb.example.org/results,//10.87.0.1/share,' -e 's/vers=3.1.1,seal/&,port=1445/' >"$MINISLURM_DIR/batchai.toml"
    deadline=100 as_alice "$BATCHAI_SOURCE/tests/docs/run_page" --timeout 50 --show //10.87.0.1/share=//smb.example.org/results \
        --show 10.87.0.1:/export=nfs.example.org:/export "$BATCHAI_SOURCE/docs/$1"
}

@test "the page about NFS shows what happens" { page storage/nfs.md; }

@test "the page about SMB shares shows what happens" { page storage/cifs.md; }
