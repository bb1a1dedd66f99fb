# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by the lint checks. Every check takes the root of the tree as its first argument, prints
# one line for each finding, and exits with 0 (clean), 1 (findings) or 77 (its tool is missing).

# lint_files ROOT PATTERN...: print the files that match one of the patterns, relative to the root:
# tracked by git or about to be; without git all files outside of build folders.
lint_files() {
	local root=$1
	shift
	if git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		(cd "$root" && git ls-files --cached --others --exclude-standard -- "$@" |
			while IFS= read -r file; do
				[ -f "$file" ] && printf '%s\n' "$file"
			done)
	else
		(cd "$root" && find . \( -name build -o -name node_modules \) -prune -o -type f -print |
			sed 's,^\./,,' | while IFS= read -r file; do
			for pattern; do
				# shellcheck disable=SC2254 # meant as a pattern
				case $file in $pattern)
					printf '%s\n' "$file"
					break
					;;
				esac
			done
		done)
	fi | sort
}

# lint_wants COUNT ARG...: exit with 2 and the line of usage from the check's head, unless it has COUNT arguments or more.
lint_wants() {
	[ "$#" -le "$1" ] || return 0
	sed -n 's/^# Usage:/usage:/p' "$0" >&2
	exit 2
}

# lint_need TOOL: exit with 77 if the tool is missing.
lint_need() {
	command -v "$1" >/dev/null && return
	echo "skipped: $1 is not installed"
	exit 77
}

findings=0

# lint_finding FILE:LINE TEXT: print a finding.
lint_finding() {
	printf '%s: %s\n' "$1" "$2"
	findings=$((findings + 1))
}

# lint_end: exit with the result.
lint_end() {
	[ "$findings" -eq 0 ] && exit 0
	printf '%d findings\n' "$findings"
	exit 1
}
