#compdef verbsctl
# SPDX-License-Identifier: Apache-2.0
#
# Completion for verbsctl in zsh; see verbsctl.bash.

_verbsctl()
{
	local -a candidates
	candidates=("${(@f)$("$words[1]" __complete -- "${(@)words[2,CURRENT]}" 2> /dev/null)}")
	((${candidates[(I):file]})) && _files
	candidates=("${(@)candidates:#:file}")
	compadd -a candidates
}

# The first call of a function that zsh loads from a file is this file itself.
if [[ $funcstack[1] == _verbsctl ]]; then
	_verbsctl "$@"
else
	compdef _verbsctl verbsctl
fi
