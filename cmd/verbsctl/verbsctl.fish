# SPDX-License-Identifier: Apache-2.0
#
# Completion for verbsctl in fish; see verbsctl.bash.

function __verbsctl_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (command $words[1] __complete -- $words[2..-1] 2> /dev/null)
        if test "$line" = :file
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end

complete -c verbsctl -f -a '(__verbsctl_complete)'
