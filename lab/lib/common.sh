# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What every part of the lab needs: messages, paths, host packages, the lock. Sourced, never run.

# Numbers with a point, messages that can be read by programs.
export LC_ALL=C

# The lab's own failures, so that a caller can tell them from CMD's status. 124 is what timeout(1)
# returns and 125 what docker-run(1) and timeout(1) return when they themselves fail.
readonly LAB_STATUS_USAGE=2
readonly LAB_STATUS_DEADLINE=124
readonly LAB_STATUS_BROKEN=125

LAB_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly LAB_ROOT
readonly LAB_CACHE=${VERBSD_LAB_CACHE:-$LAB_ROOT/build/lab}

# Everything the lab says goes to stderr, marked: stdout belongs to CMD.
say() { printf 'lab: %s\n' "$*" >&2; }

die() {
	say "$@"
	exit "$LAB_STATUS_BROKEN"
}

usage_error() {
	say "$@"
	say "try: lab/run --help"
	exit "$LAB_STATUS_USAGE"
}

have() { command -v "$1" >/dev/null 2>&1; }

# Quotes one word for any POSIX shell. Bash's own ${x@Q} writes $'…', which dash can't read.
shell_quote() {
	local escaped=\'\\\'\'
	printf "'%s'" "${1//\'/"$escaped"}"
}

now_us() { printf '%s' "${EPOCHREALTIME/./}"; }

# seconds_between MICROSECONDS MICROSECONDS
seconds_between() {
	local us=$(($2 - $1))
	printf '%d.%02d' $((us / 1000000)) $((us % 1000000 / 10000))
}

# Runs a function with the cache locked, so that two lab/run started at once prepare it only once.
# The lock is the open file, so it is gone with its process, however that ends.
with_cache_lock() {
	mkdir -p "$LAB_CACHE" || die "can't create the cache folder $LAB_CACHE (VERBSD_LAB_CACHE moves it)"
	local lock
	exec {lock}>"$LAB_CACHE/lock"
	if ! flock --nonblock "$lock"; then
		say "waiting for another lab/prepare to finish"
		flock "$lock"
	fi
	"$@"
	exec {lock}>&-
}
