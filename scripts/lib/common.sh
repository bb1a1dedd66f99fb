# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Shared by the scripts of this folder: the root of the project, messages. Sourced, never run.

# A decimal point in numbers, and untranslated messages, which scripts can parse.
export LC_ALL=C

VBD_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly VBD_ROOT

readonly STATUS_USAGE=2
# Without a network npm tries for a long time.
readonly NPM_TIMEOUT_S=180

# Messages about the work go to stderr, marked with the script's name.
say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

die() {
	say "$@"
	exit 1
}

usage_error() {
	say "$@"
	say "try: scripts/${0##*/} --help"
	exit "$STATUS_USAGE"
}

have() { command -v "$1" >/dev/null 2>&1; }

# install_npm_packages FOLDER WHAT: installs the packages of its lock file, unless they are
# installed
install_npm_packages() {
	local folder=$VBD_ROOT/$1
	[[ ! $folder/node_modules/.package-lock.json -nt $folder/package-lock.json ]] || return 0
	say "running: npm ci in $1, for $2"
	(cd "$folder" && timeout "$NPM_TIMEOUT_S" npm ci --ignore-scripts --no-audit --no-fund </dev/null >&2) && return
	say "npm ci failed in $1, as it says above"
	return 1
}

# The version stands in project() alone.
version_of_head() { git show HEAD:CMakeLists.txt | sed -n 's/^project(verbsd VERSION \([0-9.]*\).*/\1/p'; }
