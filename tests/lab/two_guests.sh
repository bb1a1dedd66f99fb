#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Two guests: rping crosses from the first to the second; the first can lose packets to it with netem,
# and cut its power.

# shellcheck source=tests/lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs_guest

cat >"$WORK/peer" <<'EOF'
rping -s -P -a "$LAB_ADDR" &
until rdma resource show cm_id | grep -q LISTEN; do sleep 0.1; done
echo "on $(cat /proc/sys/kernel/hostname), port open"
touch "$LAB_SHARED/open"
wait
EOF

# The last rping must not reach a guest that is off: no answer to its first packet.
cat >"$WORK/command" <<'EOF'
set -e
until [ -e "$LAB_SHARED/open" ]; do sleep 0.1; done
rping -c -a "$LAB_PEER_ADDR" -C 100 -v | tail -n 1
tc qdisc add dev rdma0 root netem delay 300ms
rping -c -a "$LAB_PEER_ADDR" -C 1
tc -s qdisc show dev rdma0 | grep Sent
tc qdisc del dev rdma0 root
lab/peer-off
echo peer is off
if timeout 2 rping -c -a "$LAB_PEER_ADDR" -C 1; then exit 3; fi
exit 4
EOF

cd "$ROOT"
run_booted two --deadline 120 --time --peer "sh $WORK/peer" -- sh "$WORK/command"
expect_status two 4
expect_text two out 'rdma-ping-99'
expect_text two out 'Sent [1-9]'
expect_text two out '^peer is off$'
expect_text two err '^peer: on lab-b, port open$'
expect_text two err '^lab: switching the second guest off$'
grep '^lab: time' "$WORK/two.err"
