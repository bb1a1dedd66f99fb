#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A command that hangs is ended at its deadline: status 124, a message, and its output so far. Output
# comes while the command runs. A guest that is too slow to boot is reported differently.

# shellcheck source=tests/lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs_guest

# The command ignores signals. It hangs only after the test has seen its output.
run_hanging() {
	# shellcheck disable=SC2016 # expanded in the guest
	run hang --deadline "$1" --results "$WORK/results" -- sh -c 'trap "" TERM INT
		echo before; until [ -e "$LAB_RESULTS/seen" ]; do sleep 0.1; done; echo after
		while :; do sleep 1000; done'
	echo "$status" >"$WORK/status"
}

try_deadline() {
	rm -rf "$WORK/results" "$WORK/hang.out"
	run_hanging "$1" &
	until grep -qsx before "$WORK/hang.out" || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
	mkdir -p "$WORK/results"
	touch "$WORK/results/seen"
	wait
}

# A short deadline first; a longer one for a machine that is too busy to boot a guest in that time.
deadline=20
try_deadline "$deadline"
if ! grep -qsx after "$WORK/hang.out"; then
	deadline=90
	try_deadline "$deadline"
fi
status=$(<"$WORK/status")
expect_status hang 124
expect_text hang out '^after$'
expect_text hang err "^lab: deadline of $deadline s reached: CMD was still running"

run boot --deadline 1 true
expect_status boot 124
expect_text boot err '^lab: deadline of 1 s reached: the guest had not finished booting'
