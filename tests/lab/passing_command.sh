#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A command that passes: status 0, each stream exact to the byte, an active device and the time when
# it was ready, the documented environment, and a real rping from the guest to itself.

# shellcheck source=tests/lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs_guest

head -c 3000000 /dev/urandom >"$WORK/random"
printf 'no newline at the end' >>"$WORK/random"

cat >"$WORK/command" <<'EOF'
set -e
cat random
tac random >&2
exec >"$LAB_RESULTS/log" 2>&1
set -x
grep -q ACTIVE "/sys/class/infiniband/$LAB_DEV/ports/1/state"
[ "$(ulimit -l)" = unlimited ]
[ "$(ulimit -n)" = 65536 ]
[ "$(stat -c %a /dev/infiniband/uverbs0)" = 666 ]
[ "$(cat /proc/sys/kernel/hostname)" = lab ]
[ "$(stat -f -c %T /dev/shm)" = tmpfs ]
[ "$GREETING" = "it's a fine 'day'" ]
[ "$1" = 'a  b' ]
grep -q hca_object /sys/fs/cgroup/lab/rdma.max
setpriv --reuid nobody --regid nogroup --clear-groups dd if=/dev/infiniband/uverbs0 count=0
rping -s -a "$LAB_ADDR" -C 100 &
until rdma resource show cm_id | grep LISTEN; do sleep 0.1; done
rping -c -a "$LAB_ADDR" -C 100 -v | tail -n 1
wait $! || true # rping may fail while it ends
EOF

cd "$WORK"
run pass --time --results "$WORK/results" --env "GREETING=it's a fine 'day'" -- \
	sh "$WORK/command" 'a  b'
if [[ $status != 0 ]]; then
	cat "$WORK/results/log" "$WORK/results/console-a.log"
	fail "status $status: $(tail -n 5 "$WORK/pass.err" | tr -dc '[:print:]\n')"
fi
cmp "$WORK/random" "$WORK/pass.out" || fail "stdout differs"
tac "$WORK/random" >"$WORK/reversed"
cmp -n "$(stat -c %s "$WORK/reversed")" "$WORK/reversed" "$WORK/pass.err" || fail "stderr differs"
grep -q 'rdma-ping-99' "$WORK/results/log" || fail "rping did not reach its 100th message"

# After CMD's own bytes, stderr may only contain messages of the lab.
tail -c "+$(($(stat -c %s "$WORK/reversed") + 1))" "$WORK/pass.err" >"$WORK/said"
if grep -v '^lab: time: ' "$WORK/said"; then fail "the lab said more than the time"; fi
grep -q "active device after" "$WORK/said" || fail "--time does not tell when the device was active"
cat "$WORK/said"
