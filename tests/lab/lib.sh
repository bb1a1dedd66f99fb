# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For tests of the lab, which source this file first. The name of a test is the property that it
# checks; it exits with 0 (holds), 1 (does not hold, with the reason) or 77 (can't run here, with
# the reason).

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly ROOT
readonly RUN=$ROOT/lab/run
WORK=$(mktemp -d)
readonly WORK
trap 'rm -rf "$WORK"' EXIT
# Also contains files that lab/run keeps on purpose: the console of a guest that failed.
export TMPDIR=$WORK/tmp
mkdir "$TMPDIR"

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

skip() {
	echo "SKIPPED: $*" >&2
	exit 77
}

# For tests that boot guests: needs the host's packages, the kernel, and a machine that is not a
# guest.
needs_guest() {
	[[ ${LAB:-} != 1 ]] || skip "this is already a guest of the lab"
	"$ROOT/lab/prepare" || skip "lab/prepare failed, as it says above"
}

needs_siw() {
	needs_guest
	"$ROOT/lab/prepare" --siw || skip "lab/prepare --siw failed, as it says above"
}

# run NAME ARG…: runs lab/run --guest ARG…; output goes to $WORK/NAME.out and .err, the status to
# $status.
run() {
	local name=$1
	shift
	status=0
	"$RUN" --guest "$@" >"$WORK/$name.out" 2>"$WORK/$name.err" || status=$?
}

# Like run, but repeated once if the guests did not boot within the deadline: about one of a hundred boots of two
# guests hangs.
run_booted() {
	run "$@"
	! grep -q 'had not finished booting' "$WORK/$1.err" || run "$@"
}

show() {
	local name=$1
	echo "--- stdout of $name"
	cat "$WORK/$name.out"
	echo "--- stderr of $name"
	cat "$WORK/$name.err"
} >&2

expect_status() {
	local name=$1 wanted=$2
	[[ $status == "$wanted" ]] || {
		show "$name"
		fail "$name: status $status, expected $wanted"
	}
}

# expect_text NAME out|err REGEX
expect_text() {
	grep -qE -e "$3" "$WORK/$1.$2" || {
		show "$1"
		fail "$1: std$2 lacks: $3"
	}
}

# await SECONDS COMMAND…: repeats the command until it succeeds.
await() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || fail "waited in vain for: $*"
		sleep 0.1
	done
}
