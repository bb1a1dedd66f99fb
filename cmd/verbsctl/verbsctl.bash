# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Completion for verbsctl. The program itself knows its commands, options and values, and asks the server for names and
# ids when it is reachable: `verbsctl __complete WORD...` prints what the last word could become, ":file" for files.

_verbsctl()
{
	local rest=${COMP_LINE:0:COMP_POINT} words=() candidates=() kept='' cur word line

	# Readline splits a word at the ":" and "=" of COMP_WORDBREAKS; a URL is one word for verbsctl. No space stands
	# between the parts of a word. The word of the cursor ends there, and readline keeps its parts before the last.
	for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
		if [[ -z ${words[*]} || $rest == [[:space:]]* ]]; then
			rest=${rest#"${rest%%[![:space:]]*}"}
			words+=('')
		fi
		kept=${words[-1]}
		words[-1]+=${rest:0:${#word}}
		rest=${rest:${#word}}
	done
	cur=${words[-1]}
	# Behind a ":" readline completes an empty part.
	if [[ $word && -z ${word//[:=]} ]]; then
		kept=$cur
	fi
	COMPREPLY=()
	while IFS= read -r line; do
		if [[ $line == :file ]]; then
			compopt -o filenames 2> /dev/null
			mapfile -t -O "${#candidates[@]}" candidates < <(compgen -f -- "$cur")
		else
			candidates+=("$line")
		fi
	done < <("${words[0]}" __complete -- "${words[@]:1}" 2> /dev/null)
	COMPREPLY=("${candidates[@]#"$kept"}")
}

complete -F _verbsctl verbsctl
