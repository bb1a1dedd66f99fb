# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the scripts of this folder share: the root of the project, messages. Sourced, never run.

# Numbers with a point, messages that can be read by programs.
export LC_ALL=C

VBD_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly VBD_ROOT

readonly STATUS_USAGE=2

# What is said about the work goes to stderr, marked with the script's name.
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
