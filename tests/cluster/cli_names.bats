#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Names that another user has chosen cannot send control sequences to a user's or admin's terminal.
# minislurm: -n 1
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # scope is set by cli.bash, share, open and work by plugin.bash, job by submit_alice

load cli

# It sets the terminal's title, changes the colour (with both forms of C1), and reverses the text's direction.
words=$'x\e]0;pwned\a\u009b31m\u202egnp'
name=$words$'\x9b32m' # of a file, which need not be UTF-8

# harmless FILE...: none contains a control sequence, and none is empty.
harmless() {
    local file
    for file in "$@"; do
        # shellcheck disable=SC2015 # one condition
        [ -s "$file" ] && iconv -f UTF-8 -t UTF-8 "$file" >/dev/null &&
            ! LC_ALL=C grep -qaP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]' "$file" || {
            echo "$file:" && cat -v "$file"
            return 1
        }
    done
}

batchai-launch() { as_alice batchai-launch "$@"; }

# quietly COMMAND...: what it prints, on both streams, quotes the name and is harmless.
quietly() {
    "$@" >said 2>&1 || true
    harmless said
    grep -q '\\u001b\]0;pwned\\u0007\\u009b31m\\u202egnp\|\\e\]0;\|\\x1b\]0;pwned' said || {
        echo "does not quote it: $*" && cat said
        return 1
    }
}

@test "a name on batchai's command line is printed with escapes" {
    write_job good.json 1
    quietly batchai "$name"
    quietly batchai job "$name"
    quietly batchai job show --name "$name"
    quietly batchai job list "--$name"
    quietly batchai job create "${scope[@]}" -n "$name" -f good.json
    quietly batchai job create -g "$name" -n good -f good.json
    quietly batchai job create "${scope[@]}" -n good -f good.json -c "$name"
    quietly batchai job create "${scope[@]}" -n good -f good.json --dry-run --account "$name"
    quietly batchai job check "$name.json"
    quietly batchai job delete --yes -n "$name"
    quietly batchai experiment create -n "$name"
    quietly batchai job list --query "$name"
    quietly batchai storage file list --share-name "$name" --account-name a
    quietly batchai admin check --plugstack "$work/$name"
    quietly batchai admin check --plugstack "$work/$name" --json
}

@test "text of a job file is printed with escapes" {
    write_job good.json 1
    WORDS=$words jq '.properties[env.WORDS] = 1
        | .properties.mountVolumes.azureFileShares[0].azureFileUrl = "https://a.file.core.windows.net/" + env.WORDS' good.json >"$name.json"
    quietly batchai job check "$name.json"
    quietly batchai job check "$name.json" --json
    jq -e --arg words "$words" 'any(.[]; .path | contains($words))' said # of the same value
    quietly batchai job check "$name.json" --json -o table
    quietly batchai job create "${scope[@]}" -n bad -f "$name.json"
    quietly as_alice sbatch --batchai-job="$name.json" --wrap true
    quietly batchai-launch --local --job "$name.json"
    printf '{"a\e]0;pwned": %s}' "$words" >syntax.json
    batchai job check syntax.json >said 2>&1 || true
    harmless said
}

@test "a file's name is printed with escapes, and its JSON value is the same" {
    start files 1 "touch \"\$AZ_BATCHAI_STDOUTERR_DIR/\$(printf '%b' '$(printf %s "$name" | od -An -v -to1 | tr -d '\n' | sed 's/ /\\0/g')')\""
    batchai job wait "${scope[@]}" -n files
    file=$(find "$(stdouterr)" -name 'x*')
    [ "${file##*/}" = "$name" ]
    for output in json table; do
        quietly batchai job file list "${scope[@]}" -j files -o "$output"
        quietly batchai storage file list --share-name myshare --account-name a -p "$(realpath --relative-to="$share" "$(stdouterr)")" -o "$output"
    done
    mv "$file" "${file%/*}/$words"
    batchai job file list "${scope[@]}" -j files >listed
    jq -e --arg words "$words" 'any(.[]; .name == $words)' listed
    quietly batchai job file stream "${scope[@]}" -j files -f "$name"
    quietly batchai storage file download --share-name myshare --account-name a -p "$name" --dest .
}

@test "a user's plugin options are printed and logged with escapes" {
    local turned=$'x\u009b31m\u202egnp' # of C0 the options take none
    mkdir "$open/$turned"
    for option in "mount=$secret/$turned:x" "mount=tmpfs:x:$turned" "mount=$open/$turned/none:x" "mount=tmpfs:$turned,tmpfs:$turned" \
        "job=$turned"; do
        as_alice srun -Q --batchai-"$option" true >said 2>&1 || true
        harmless said
        grep -F 'x\u009b31m\u202egnp' said
    done
    quietly as_alice srun -Q --batchai-job="$name" true
    quietly as_alice srun -Q --batchai-output="$work/$words" --batchai-prep='exit 3' true
    harmless "$words"/execution-n1.log
    grep -F 'job preparation failed with exit code 3; see ' "$words"/execution-n1.log
    # A failure on the node: where its line is logged, and recorded to be shown later.
    write_job job.json 1 'exit 3'
    TURNED=$turned jq '.properties.stdOutErrPathPrefix += "/" + env.TURNED' job.json >turned.json
    as_alice batchai job create "${scope[@]}" -n turned -f turned.json >said
    run ! batchai job wait "${scope[@]}" -n turned
    echo "$output" >waited
    for output in json table; do batchai job show "${scope[@]}" -n turned -o "$output" >"shown.$output"; done
    harmless said waited shown.* "$(record)"/slurm-*.out "$(record)"/events-n1.jsonl "$(find "$share/out" -name execution.log)"
    grep -F 'job preparation failed with exit code 3; see ' waited | grep -F 'x\u009b31m\u202egnp'
    [ "$(grep -c 'u009b31m.*u202egnp' shown.json)" -ge 2 ] # the prefix and the error
}

@test "the launcher's messages print names with escapes, and a rank's own output passes unchanged" {
    quietly batchai-launch "--$name"
    quietly batchai-launch --local 1 -- "./$name"
    quietly batchai-launch --local 1 --interface "$name" -- true
    quietly batchai-launch --local 1 --job "$name"
    touch good.json
    quietly batchai-launch --local 1 --output-dir "good.json/$name" -- true
    quietly batchai-launch --local 1 --dry-run -- "./$words"
    quietly batchai-launch --local 1 --dry-run --json -- "./$words"
    [ "$(batchai-launch --local 1 --dry-run --json -- "./$words" 2>/dev/null | jq -r '.command[0]')" = "./$words" ]
    batchai-launch --local 1 -- printf '%s\n' "$name" >out
    printf '%s\n' "$name" | cmp - out
    batchai-launch --local 1 --label -- printf '%s\n' "$name" >out
    grep -qaF "$name" out
}
