#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# SIGTERM ends lab/run at once, with both guests and every helper, and leaves no file behind; a guest
# doesn't outlive a lab/run that was killed outright; and the reader of the output may leave early.

# shellcheck source=tests/lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs_guest

# The run's folder is in the arguments of all its processes, so they can be told from others'.
processes() { pgrep -f -- "$TMPDIR" || true; }
none_left() { [[ -z $(processes) ]]; }

start() {
	: >"$WORK/run.out" # the shell of the job below may be late in emptying it
	"$RUN" --guest "$@" -- sh -c 'echo up; sleep 1000' >"$WORK/run.out" 2>"$WORK/run.err" &
	lab=$!
	await 120 grep -qx up "$WORK/run.out"
	[[ -n $(processes) ]] || fail "no process to be seen: the test is wrong"
}

start --peer 'sleep 1000'
kill -TERM "$lab"
status=0
wait "$lab" || status=$?
none_left || fail "left running: $(ps -o pid,args -p "$(processes | paste -sd,)")"
[[ $status == 143 ]] || fail "status $status after SIGTERM"
[[ -z $(ls "$TMPDIR") ]] || fail "files left: $(ls "$TMPDIR")"

start
disown "$lab" # or the shell would tell of its death
kill -KILL "$lab"
await 60 none_left

statuses=$(
	set +e
	"$RUN" --guest --deadline 150 yes | head -n 1 >"$WORK/first"
	echo "${PIPESTATUS[*]}"
)
[[ $(<"$WORK/first") == y ]] || fail "read $(<"$WORK/first")"
[[ $statuses == "141 0" ]] || fail "statuses $statuses when the reader left early"
await 60 none_left
