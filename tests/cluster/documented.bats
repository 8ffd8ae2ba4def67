#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: none
# Documents and completion name the options that programs and plugin have: none is missing, none is made up.

load lib

teardown() { :; }

help_options() { batchai-launch --help | sed -nE 's/^ +(-[a-z],)?(--[a-z-]+).*/\2/p' | sort; }
manual_options() { grep '^\.It .*Fl' "$BATCHAI_SOURCE/docs/man/$1" | grep -oE 'Fl Fl [a-z-]+' | sed 's/Fl Fl /--/' | sort; }
plugin_options() { # the first word of each row of kOptions
    tr -d '\n' <"$BATCHAI_SOURCE/spank/protocol.hpp" | grep -oE 'BATCHAI_OPTION\( *"[a-z]+"' | sed -E 's/.*"(.*)"/--batchai-\1/' | sort
}

completed() { # word...: what bash offers for the last one
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    # shellcheck disable=SC1091
    source "$BATCHAI_SOURCE/etc/completion/batchai-launch.bash"
    _batchai_launch
    printf '%s\n' "${COMPREPLY[@]}"
}

@test "the manual of batchai-launch has every option of its --help, and no other" {
    [ "$(help_options | wc -l)" -gt 20 ]
    diff <(help_options) <(manual_options batchai-launch.1)
}

@test "completion of batchai-launch offers every option, and the values of those that have a list" {
    diff <(help_options) <(completed batchai-launch -- | sort)
    [ "$(completed batchai-launch --dry-)" = --dry-run ]
    [ "$(completed batchai-launch --map '')" = $'block\ncyclic' ]
    [ "$(completed batchai-launch --map c)" = cyclic ]
    [ -z "$(completed batchai-launch -n 2 -- python3 --he)" ] # the command's own
}

@test "the plugin's options are in its manual and in the README, and no others" {
    [ "$(plugin_options | wc -l)" -gt 3 ]
    diff <(plugin_options) <(sed -nE 's/^\.It Fl -(batchai-[a-z]+).*/--\1/p' "$BATCHAI_SOURCE/docs/man/spank_batchai.8" | sort)
    diff <(plugin_options) <(sed -nE 's/^\| `(--batchai-[a-z]+)=.*/\1/p' "$BATCHAI_SOURCE/README.md" | sort)
}

@test "batchai has every option that its manual, the README and docs/ give it" {
    local options
    options=$(grep -oE -- '--[a-z][a-z0-9-]+' "$BATCHAI_SOURCE/etc/completion/batchai.bash" | sort -u) # a unit test compares it
    # And what the manual says of sbatch's own.
    [ "$(comm -13 - <(grep -oE 'Fl Fl [a-z-]+' "$BATCHAI_SOURCE/docs/man/batchai.1" | sed 's/Fl Fl /--/' | sort -u) <<<"$options")" = $'--comment\n--exclusive\n--no-requeue\n--oversubscribe\n--requeue' ]
    [ "$(cat "$BATCHAI_SOURCE"/README.md "$BATCHAI_SOURCE"/docs/*.md | grep -oE "\bbatchai [a-z]+ [^\`|']*" | sed 's/ -- .*//' |
        grep -oE -- ' --[a-z][a-z-]+' | tr -d ' ' | sort -u | comm -13 <(echo "$options") -)" = "" ]
}
