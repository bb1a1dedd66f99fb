# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Shared by all parts of the lab: messages, paths, host packages, the lock. Sourced, never run.

# A decimal point in numbers, and untranslated messages, which scripts can parse.
export LC_ALL=C

# Statuses of the lab's own failures, different from CMD's. 124 is the status of timeout(1), and 125
# that of docker-run(1) and timeout(1) when they themselves fail.
readonly LAB_STATUS_USAGE=2
readonly LAB_STATUS_DEADLINE=124
readonly LAB_STATUS_BROKEN=125

LAB_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly LAB_ROOT
readonly LAB_CACHE=${VERBSD_LAB_CACHE:-$LAB_ROOT/build/lab}

# All messages of the lab go to stderr with a mark: stdout belongs to CMD.
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

# Quotes one word for any POSIX shell. Bash's own ${x@Q} writes $'…', which dash does not know.
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

# Runs a function with the cache locked, so that two lab/run started together prepare it only once.
# The lock is an open file, which the kernel closes when the process ends.
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
