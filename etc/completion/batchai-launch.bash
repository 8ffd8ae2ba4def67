# SPDX-License-Identifier: Apache-2.0
# bash completion for batchai-launch. Its options are those that --help prints.
_batchai_launch() {
    local previous=${COMP_WORDS[COMP_CWORD - 1]} current=${COMP_WORDS[COMP_CWORD]} help choices i
    for ((i = 1; i < COMP_CWORD; i++)); do # after the options comes the command with its own arguments
        [ "${COMP_WORDS[i]}" != -- ] || return 0
    done
    help=$(batchai-launch --help 2>/dev/null) || return 0
    choices=$(sed -nE "s/^ +(-[a-z],)?$previous [A-Z]+:\{([^}]+)\}.*/\2/p" <<<"$help")
    if [ -n "$choices" ]; then
        mapfile -t COMPREPLY < <(compgen -W "${choices//,/ }" -- "$current")
    elif [[ $current = -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(sed -nE 's/^ +(-[a-z],)?(--[a-z-]+).*/\2/p' <<<"$help")" -- "$current")
    fi
}
complete -o default -F _batchai_launch batchai-launch
