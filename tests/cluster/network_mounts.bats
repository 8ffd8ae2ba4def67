#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Jobs whose volumes are an SMB share and an NFS export, mounted by the node's kernel.
# minislurm: -n 1
# needs: nfs smb
# guest: yes
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # set in network.bash and what it loads

load network

setup_file() { make_network_site 60; }
setup() { enter_work; }
teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || [ -n "${BATS_TEST_SKIPPED-}" ] || show_logs
    cd /
    rm -rf "$smb_dir"/[!h]* "$export_dir"/data/* "$(alice_home)/.local" "$work"
    assert_clean
}

root='$AZ_BATCHAI_JOB_MOUNT_ROOT'

@test "a job reads and writes its SMB share and its NFS export as its user, and its output is on the share" {
    echo 'from the server' >"$export_dir/data/in"
    write_network_job "$(share_of site smb)" "$(file_server_of fs1 nfs data)" \
        "cat $root/smb/hello $root/nfs/in; id -un >$root/nfs/result; stat -c %U $root/smb/hello $root/nfs/result"
    run_network_job batchai-launch
    succeeded
    files=$(find "$smb_dir" -name stdouterr)
    [ "$(cat "$files/stdout.txt")" = $'the site says hello\nfrom the server\nalice\nalice' ]
    [ "$(stat -c %U "$export_dir/data/result" "$files/stdout.txt")" = $'alice\nalice' ]
    [ "$(cat "$export_dir/data/result")" = alice ]
}

@test "a share's password comes from the site's store, from the user's own file or from the job file" {
    mkdir -p "$(alice_home)/.config/batchai/credentials"
    printf 'username=alice\npassword=%s\n' "$password" >"$(alice_home)/.config/batchai/credentials/own"
    chmod 600 "$(alice_home)/.config/batchai/credentials/own"
    chown -R alice "$(alice_home)/.config"
    write_network_job "$(share_of site a), $(share_of own b), $(share_of key c "$(account)")" ""
    run_network_job "cat $root/a/hello $root/b/hello $root/c/hello"
    succeeded
    [ "$(cat out)" = $'the site says hello\nthe site says hello\nthe site says hello' ]
}

# An account of a job file, with the share's password.
account() { echo "\"accountName\": \"alice\", \"credentials\": {\"accountKey\": \"$password\"}"; }

@test "files and directories of a share have the job file's modes, within those of the policy" {
    write_network_job "$(share_of site a '"fileMode": "0777", "directoryMode": "0700"')" ""
    run_network_job "stat -c %a $root/a/hello $root/a"
    succeeded
    [ "$(cat out)" = $'750\n700' ]
}

@test "a job may ask for less of an export than the policy gives, and not for more" {
    write_network_job "" "$(file_server_of fs1 b data hard,nosharecache), $(file_server_of fs1 a data ro)"
    run_network_job "touch $root/a/x" "touch $root/b/y" "grep ' /run/batchai/mnt/.*nfs4' /proc/self/mounts"
    succeeded
    [[ $(cat out) == *"/a/x': Read-only file system"* ]]
    [ "$(ls "$export_dir/data")" = $'slurm\ny' ]
    [ "$(grep -c '^10.87.0.1:/export/data .* nfs4 .*nosuid,nodev.*vers=4.2.*soft.*timeo=50,retrans=2' out)" = 2 ]
}

@test "an export is mounted with NFS 3 where the policy says so" {
    echo 'from the server' >"$export_dir/data/in"
    write_network_job "" "$(file_server_of v3 nfs data)"
    run_network_job "cat $root/nfs/in" "id -un >$root/nfs/result" "grep ' /run/batchai/mnt/nfs nfs ' /proc/self/mounts"
    succeeded
    [ "$(head -n 1 out)" = 'from the server' ]
    [[ $(tail -n 1 out) == "10.87.0.1:/export/data "*nosuid,nodev*vers=3,* ]]
    [ "$(stat -c %U "$export_dir/data/result")" = alice ]
}

# "FILE" of each process of the guest whose command line or environment has the text.
processes_with() { grep -laF -- "$1" /proc/[0-9]*/{cmdline,environ} 2>/dev/null || true; }

@test "a share's password is in no command line, environment, mount table, log or state of Slurm's" {
    write_network_job "$(share_of site a), $(share_of key b "$(account)")" ""
    write_script job.sh 'cat /proc/self/mounts; touch started; while [ ! -e done ]; do sleep 0.1; done'
    submit_alice -N 1 -o out --batchai-job=job.json job.sh
    eventually test -e started
    NEEDLE=$password sleep 1000 &
    [ "$(processes_with "$password")" = "/proc/$!/environ" ] # as far as we look, we see
    kill $!
    grep -q '/run/batchai/mnt/b cifs .*username=alice' out
    [ -z "$(grep -rlF "$password" out "$MINISLURM_DIR"/{log,state,etc,node} 2>/dev/null)" ]
    run scontrol show job -dd "$job"
    [[ $output == *"JobState=RUNNING"* && $output != *"$password"* ]]
    # The checkout may be below /tmp, and servers.bash in it has the password.
    run on_node n1 grep -rlsF --exclude=servers.bash "$password" /run/batchai /tmp /dev/shm
    [ "$output" = "" ]
    : >done
    [ "$(wait_job "$job")" = COMPLETED ]
    # What stays: the snapshot, for its owner alone.
    run grep -rlF "$password" "$(alice_home)/.local/share/batchai"
    [ "${#lines[@]}" = 1 ]
    [ "$(stat -c '%U %a' "${lines[0]}")" = "alice 600" ]
}

@test "two users' jobs mount the same share, each as its own user, at the same time" {
    write_network_job "$(share_of site smb)" ""
    write_script job.sh 'touch started.$(id -un)' "while [ ! -e done ]; do sleep 0.2; done; stat -c %U $root/smb/hello"
    submit_alice -N 1 -o out.alice --batchai-job=job.json job.sh
    first=$job
    cp job.json bobs.json && chown bob bobs.json
    submit_as bob -N 1 -o out.bob --batchai-job=bobs.json job.sh
    eventually test -e started.alice -a -e started.bob
    : >done
    [ "$(wait_job "$first")" = COMPLETED ]
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat out.alice out.bob)" = $'alice\nbob' ]
}

@test "a link that a user has made in an export leads no mount out of the policy's directory" {
    mkdir -p "$export_dir/home/shared" "$export_dir/data/sub"
    echo theirs >"$export_dir/home/shared/file"
    chmod 777 "$export_dir/home/shared" "$export_dir/data/sub"
    chmod 700 "$export_dir/home" # alice may not enter it
    ln -sfn ../home/shared "$export_dir/data/evil"
    chown -h alice "$export_dir/data/evil"
    for entry in below below3; do
        write_network_job "" "$(file_server_of fs1 out data), $(file_server_of $entry nfs evil)"
        run_network_job 'touch started'
        failed_with "*/export/data/evil at nfs: evil: is a symbolic link: name the directory that it leads to"
        write_network_job "" "$(file_server_of fs1 out data), $(file_server_of $entry nfs sub)"
        run_network_job "touch $root/nfs/made.$entry" "grep ' /run/batchai/mnt/nfs ' /proc/self/mounts"
        succeeded
        [ -e "$export_dir/data/sub/made.$entry" ]
        [[ $(cat out) == "10.87.0.1:/export/data/sub "*nosuid,nodev* ]]
        [ "$(wc -l <out)" = 1 ] # nothing below it
    done
}

@test "a directory of an export that the job's user may not enter is not mounted with root's rights" {
    mkdir -p "$export_dir/data/closed/inner"
    chmod 777 "$export_dir/data/closed/inner"
    chmod 700 "$export_dir/data/closed"
    write_network_job "" "$(file_server_of fs1 out data), $(file_server_of below nfs closed/inner)"
    run_network_job 'touch started'
    failed_with "*/export/data/closed/inner at nfs: closed/inner: Permission denied"
}
