# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the lint checks share. Every check takes the root of the tree as its first argument, prints
# one line for each finding, and ends with 0 (clean), 1 (findings) or 77 (its tool is missing).

# lint_files ROOT PATTERN...: the files of the project that match one of the patterns, from the
# root: what git knows or would add; without git, everything but the build.
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
				# shellcheck disable=SC2254 # it is meant as a pattern
				case $file in $pattern)
					printf '%s\n' "$file"
					break
					;;
				esac
			done
		done)
	fi | sort
}

# lint_need TOOL: end as skipped when the tool is not there.
lint_need() {
	command -v "$1" >/dev/null && return
	echo "skipped: $1 is not installed"
	exit 77
}

findings=0

# lint_finding FILE:LINE TEXT
lint_finding() {
	printf '%s: %s\n' "$1" "$2"
	findings=$((findings + 1))
}

# lint_end: the verdict
lint_end() {
	[ "$findings" -eq 0 ] && exit 0
	printf '%d findings\n' "$findings"
	exit 1
}
