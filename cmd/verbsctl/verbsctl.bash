# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Completion for verbsctl. The program itself knows its commands, options and values, and asks the server for names and
# ids when it is reachable: `verbsctl __complete WORD...` prints what the last word could become, ":file" for files.

_verbsctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} cword=$COMP_CWORD words=("${COMP_WORDS[@]}")
	local line candidates=()

	# Readline splits at ":" and "="; a URL is one word for verbsctl.
	if declare -F _get_comp_words_by_ref > /dev/null; then
		_get_comp_words_by_ref -n := cur words cword
	fi
	COMPREPLY=()
	while IFS= read -r line; do
		if [[ $line == :file ]]; then
			compopt -o filenames 2> /dev/null
			mapfile -t -O "${#candidates[@]}" candidates < <(compgen -f -- "$cur")
		else
			candidates+=("$line")
		fi
	done < <("${words[0]}" __complete -- "${words[@]:1:cword}" 2> /dev/null)
	COMPREPLY=("${candidates[@]}")
	if declare -F __ltrim_colon_completions > /dev/null; then
		__ltrim_colon_completions "$cur"
	fi
}

complete -F _verbsctl verbsctl
