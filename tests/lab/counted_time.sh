#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Work in a guest takes the guest's clock as long on a busy host as on a quiet one, and waiting takes as long as on the
# host.

# shellcheck source=tests/lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs_guest
command -v stress-ng >/dev/null || skip "there is no stress-ng"

cat >"$WORK/measure" <<'EOS'
grep -q Nehalem /proc/cpuinfo || exit 77 # by KVM, not emulated: the clock is the host's
now_ms() { echo $(($(date +%s%N) / 1000000)); }
a=$(now_ms)
i=0
while [ $i -lt 100000 ]; do i=$((i + 1)); done
b=$(now_ms)
sleep 2
echo "$((b - a)) $(($(now_ms) - b)) $LAB_SLOW"
EOS

measure() {
	run "$1" sh "$WORK/measure"
	((status != 77)) || skip "the guest is not emulated"
	[[ $status == 0 ]] || fail "status $status: $(tail -n 5 "$WORK/$1.err")"
	read -r work_ms wait_ms slow <"$WORK/$1.out"
	echo "$1: work $work_ms ms, wait $wait_ms ms"
	[[ $slow == 1 ]] || fail "LAB_SLOW is $slow in a guest that counts time"
	((wait_ms >= 2000)) || fail "a wait of 2000 ms took $wait_ms ms"
}

measure quiet
quiet_ms=$work_ms
stress-ng --quiet --cpu 8 --timeout 300 &
stress=$!
trap 'kill "$stress"; rm -rf "$WORK"' EXIT
measure busy
((work_ms * 10 < quiet_ms * 11 && work_ms * 11 > quiet_ms * 10)) ||
	fail "work took $work_ms ms of the guest's clock on a busy host, and $quiet_ms ms on a quiet one"
