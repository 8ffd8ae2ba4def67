# SPDX-License-Identifier: Apache-2.0
# fish completion for batchai-launch: that for bash, run by bash.
function __batchai_launch_words
    set -l given (commandline -opc)[2..] (commandline -ct)
    set -l script (dirname (realpath (command -s batchai-launch)))/../share/bash-completion/completions/batchai-launch
    bash -c 'source "$0" && COMP_WORDS=(batchai-launch "$@") && COMP_CWORD=$# && _batchai_launch && printf "%s\n" "${COMPREPLY[@]}"' $script $given 2>/dev/null
end
complete -c batchai-launch -a '(__batchai_launch_words)'
