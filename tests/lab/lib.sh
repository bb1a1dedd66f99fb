# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For tests of the lab: sourced first. A test is a script whose name says what must hold; it exits
# 0 (holds), 1 (doesn't, with a reason) or 77 (can't be tried here, with a reason).

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly ROOT
readonly RUN=$ROOT/lab/run
WORK=$(mktemp -d)
readonly WORK
trap 'rm -rf "$WORK"' EXIT
# Also for what lab/run leaves on purpose: the console of a guest that failed.
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

# For tests of guests: needs the host's packages and the kernel, and a machine that is no guest.
needs_guest() {
	[[ ${LAB:-} != 1 ]] || skip "this is already a guest of the lab"
	"$ROOT/lab/prepare" || skip "lab/prepare failed, as it says above"
}

needs_siw() {
	needs_guest
	"$ROOT/lab/prepare" --siw || skip "lab/prepare --siw failed, as it says above"
}

# run NAME ARG…: runs lab/run --guest ARG…, keeps $WORK/NAME.out and .err, and its status in $status.
run() {
	local name=$1
	shift
	status=0
	"$RUN" --guest "$@" >"$WORK/$name.out" 2>"$WORK/$name.err" || status=$?
}

# The same, and once more when the guests had not booted by the deadline: of some hundred boots of two guests one hung.
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

# await SECONDS COMMAND…: tries it until it succeeds.
await() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || fail "waited in vain for: $*"
		sleep 0.1
	done
}
