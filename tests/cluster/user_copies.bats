#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What bob puts into a directory that alice copies to, copies from or writes output to.
# minislurm: -n 1

load plugin

setup_file() { make_site; }

setup() {
    need_root
    export BATCHAI_POLICY=$MINISLURM_DIR/batchai.toml
    home=$MINISLURM_DIR/home/alice
    project=$MINISLURM_DIR/project.$BATS_TEST_NUMBER
    mkdir -m 1777 "$project" # each test gives it another mode, if it needs one
    cd "$project" || return
    chmod 700 "$home"
    as_user alice bash -c 'printf "dear diary" >~/diary; chmod "$1" ~/diary' - 644
    tree=$share/tree.$BATS_TEST_NUMBER
    as_user alice mkdir -p "$tree/results/deep"
    as_user alice bash -c 'echo attack >"$1/results/diary"; echo text >"$1/results/deep/file"' - "$tree"
}

# Ends a test about alice's file: it is what it was.
assert_unread_and_unchanged() {
    [ "$(cat "$home/diary")" = "dear diary" ]
    ! grep -rqF "dear diary" "$share" "$project" || return
}

storage() { as_user alice batchai storage file "$@" --account-name account; }
not_followed() { [[ $output == *"$1: is not followed: it is a symbolic link of bob. Name the place that you mean, or ask bob to remove the link" ]]; }

download_through_a_link() {
    run -1 storage download-batch --source "myshare/${tree##*/}" --destination "$project"
    not_followed "$project/results"
    assert_unread_and_unchanged
    [ ! -e "$home/deep" ]
}

@test "a download does not write through another user's link in the folder" {
    as_user bob ln -s "$home" results
    for mode in 1777 777; do
        chmod "$mode" .
        download_through_a_link
    done
    as_user bob rm results
    as_user bob mkdir -m 777 results
    as_user bob ln -s "$home/diary" results/diary
    run -1 storage download --share-name myshare --path "${tree##*/}/results/diary" --dest results/diary
    not_followed results/diary
    assert_unread_and_unchanged
    as_user bob ln -s "$home" to
    run -1 storage download --share-name myshare --path "${tree##*/}/results/diary" --dest to
    not_followed to
    assert_unread_and_unchanged
}

@test "a copy needs no openat2" {
    injected=(strace -f -qq -o /dev/null -e trace=openat2 -e inject=openat2:error=ENOSYS)
    "${injected[@]}" true 2>/dev/null || skip "needs strace, and its being permitted"
    as_user alice "${injected[@]}" batchai storage file download-batch --source "myshare/${tree##*/}" --destination copy
    [ "$(cat copy/results/deep/file)" = text ]
    as_user bob ln -s "$home" results
    run -1 as_user alice "${injected[@]}" batchai storage file download-batch --source "myshare/${tree##*/}" --destination .
    [[ $output == *"./results: is not followed: "* || $output == *"results: is not followed: "* ]]
    assert_unread_and_unchanged
}

@test "an upload takes no file that another user's link names" {
    as_user bob mkdir -m 777 data
    as_user bob ln -s "$home/diary" data/diary
    as_user bob ln -s "$home" data/home
    run -2 storage upload-batch --destination myshare --source data --destination-path "up.$BATS_TEST_NUMBER"
    not_followed data/diary
    [ ! -e "$share/up.$BATS_TEST_NUMBER" ]
    run -1 storage upload --share-name myshare --source data/diary
    not_followed data/diary
    run -1 storage upload --share-name myshare --source data/home/diary
    not_followed data/home
    as_user bob ln -s data linked
    run -2 storage upload-batch --destination myshare --source linked
    not_followed linked
    assert_unread_and_unchanged
}

@test "a copy does not follow another user's link on the share" {
    as_user alice mkdir -p "$share/private"
    as_user alice bash -c 'printf mine >"$1/private/diary"' - "$share"
    as_user bob mkdir -p "$share/theirs"
    as_user bob ln -s ../private "$share/theirs/in"
    run -1 storage upload --share-name myshare --source "$tree/results/diary" --path theirs/in
    run -1 storage upload --share-name myshare --source "$tree/results/diary" --path theirs/in/diary
    not_followed "$share/theirs/in"
    [ "$(cat "$share/private/diary")" = mine ]
}

@test "what is inside the share is read through a link of any user, and nothing outside it" {
    as_user bob mkdir -p "$share/runs/last"
    as_user bob bash -c 'echo model >"$1/last/model"; ln -s last "$1/latest"; ln -s /etc "$1/out"' - "$share/runs"
    storage download --share-name myshare --path runs/latest/model --dest model
    [ "$(cat model)" = model ]
    storage list --share-name myshare --path runs/latest --query '[].name' -o tsv | grep -qx model
    run -1 storage download --share-name myshare --path runs/out/passwd --dest passwd
    [ ! -e passwd ]
}

@test "a FIFO or a file of another user in a copy's place is not waited for" {
    as_user bob mkdir -m 777 results
    as_user bob mkfifo -m 666 results/diary
    run -1 storage download-batch --source "myshare/${tree##*/}" --destination "$project"
    [[ $output == *"not a regular file: a copy replaces only regular files" ]]
    run -1 storage upload --share-name myshare --source results/diary
    [[ $output == *"results/diary: not a regular file" ]]
    # upload-batch leaves the FIFO out.
    storage upload-batch --destination myshare --source results --destination-path "up.$BATS_TEST_NUMBER"
    # A file of bob's is replaced, not written to, and bob keeps no access to the new one.
    as_user bob rm results/diary
    as_user bob bash -c 'echo theirs >results/diary; chmod 666 results/diary; ln results/diary results/kept'
    storage download-batch --source "myshare/${tree##*/}" --destination "$project"
    [ "$(cat results/diary) $(stat -c %U results/diary)" = "attack alice" ]
    [ "$(cat results/kept)" = theirs ]
}

@test "the user's own links and those of root are followed in a copy" {
    as_user alice mkdir "$home/place.$BATS_TEST_NUMBER"
    as_user alice ln -s "$home/place.$BATS_TEST_NUMBER" results
    storage download-batch --source "myshare/${tree##*/}" --destination "$project"
    [ "$(cat "$home/place.$BATS_TEST_NUMBER/deep/file")" = text ]
    ln -s "$home" /run/copies.link # root's, as /var/run
    storage download --share-name myshare --path "${tree##*/}/results/deep/file" --dest "/run/copies.link/place.$BATS_TEST_NUMBER"
    rm /run/copies.link
    [ "$(cat "$home/place.$BATS_TEST_NUMBER/file")" = text ]
    as_user alice mkdir own
    as_user alice ln -s "$home/place.$BATS_TEST_NUMBER/file" own/file
    storage upload-batch --destination myshare --source own --destination-path "up.$BATS_TEST_NUMBER"
    [ "$(cat "$share/up.$BATS_TEST_NUMBER/file")" = text ]
    as_user alice ln -s nothing own/dangling
    storage upload-batch --destination myshare --source own --destination-path "up.$BATS_TEST_NUMBER"
    [ "$(ls "$share/up.$BATS_TEST_NUMBER")" = file ]
    as_user alice ln -sf dangling own/dangling
    run -2 storage upload-batch --destination myshare --source own
    [[ $output == *"own/dangling: Too many levels of symbolic links" ]]
}

launch() { as_user alice batchai-launch --local 1 -n 1 "$@"; }

@test "output goes through no link of another user, and into no file of another user" {
    as_user bob ln -s "$home" out
    run ! launch --output-dir out echo text
    [[ $output == *"$project/out: is not followed: it is a symbolic link of bob"* ]]
    [ ! -e "$home/rank.0" ]
    as_user bob rm out
    as_user bob mkdir -m 777 out
    as_user bob mkdir -m 777 out/rank.0
    as_user bob ln -s "$home/diary" out/rank.0/stdout
    run ! launch --output-dir out echo text
    assert_unread_and_unchanged
    as_user bob rm out/rank.0/stdout
    as_user bob mkfifo -m 666 out/rank.0/stdout
    run ! launch --output-dir out echo text
    [[ $output == *"out/rank.0/stdout: not a regular file"* ]]
    rm -r out
    mkdir -m 777 out out/rank.0
    as_user bob bash -c 'echo theirs >out/rank.0/stdout; chmod 666 out/rank.0/stdout'
    run ! launch --output-dir out echo text
    [[ $output == *"out/rank.0/stdout: is not written to: it belongs to bob. Name another place, or ask bob to remove it"* ]]
    [ "$(cat out/rank.0/stdout)" = theirs ]
    rm -r out
    as_user alice ln -s "$home/logs.$BATS_TEST_NUMBER" out
    launch --output-dir out echo text
    [ "$(cat "$home/logs.$BATS_TEST_NUMBER/rank.0/stdout")" = text ]
}

# The timeline of a rank that does nothing else.
timeline() {
    PYTHONPATH=$BATCHAI_BUILD/lib/batchai/python HOROVOD_TIMELINE=$1 timeout 30 setpriv --reuid alice --regid alice \
        --init-groups env HOME="$home" batchai-launch --local 1 -n 1 \
        /usr/bin/python3 -c 'from horovod.common import basics; basics.init(); basics.shutdown()'
}

@test "a timeline empties no file through another user's link, and waits for no FIFO" {
    as_user bob ln -s "$home/diary" timeline.json
    for mode in 1777 777; do
        chmod "$mode" .
        run timeline timeline.json
        [[ $output == *"horovod: HOROVOD_TIMELINE: "*"timeline.json: is not followed: it is a symbolic link of bob."* ]]
        assert_unread_and_unchanged
    done
    as_user bob rm timeline.json
    as_user bob mkfifo -m 666 timeline.json
    run timeline timeline.json
    [[ $output == *"timeline.json: not a regular file"* ]]
    as_user bob rm timeline.json
    as_user bob bash -c 'echo theirs >timeline.json; chmod 666 timeline.json'
    run timeline timeline.json
    [[ $output == *"timeline.json: is not written to: it belongs to bob."* ]]
    [ "$(cat timeline.json)" = theirs ]
    as_user alice ln -s "$home/timeline.json" own.json
    run timeline own.json
    [[ $output != *HOROVOD_TIMELINE* ]]
    [ -s "$home/timeline.json" ]
}
