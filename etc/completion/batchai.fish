# SPDX-License-Identifier: Apache-2.0
# fish completion for batchai: that for bash, run by bash.
function __batchai_words
    set -l given (commandline -opc)[2..] (commandline -ct)
    set -l script (dirname (realpath (command -s batchai)))/../share/bash-completion/completions/batchai
    bash -c 'source "$0" && COMP_WORDS=(batchai "$@") && COMP_CWORD=$# && _batchai && printf "%s\n" "${COMPREPLY[@]}"' $script $given 2>/dev/null
end
complete -c batchai -a '(__batchai_words)'
