#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# SIGTERM ends lab/run at once, with both guests and every helper, and leaves no file behind. A guest
# does not outlive a lab/run killed by SIGKILL. The reader of the output may leave early.

# shellcheck source=tests/lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs_guest

# The processes of a run have the run's folder in their arguments, which tells them from others.
processes() { pgrep -f -- "$TMPDIR" || true; }
none_left() { [[ -z $(processes) ]]; }

start() {
	: >"$WORK/run.out" # the shell of the job below may empty the file later
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
disown "$lab" # otherwise the shell prints that the job was killed
kill -KILL "$lab"
await 60 none_left

statuses=$(
	set +e
	"$RUN" --guest --deadline 900 yes | head -n 1 >"$WORK/first"
	echo "${PIPESTATUS[*]}"
)
[[ $(<"$WORK/first") == y ]] || fail "read $(<"$WORK/first")"
[[ $statuses == "141 0" ]] || fail "statuses $statuses when the reader left early"
await 60 none_left
