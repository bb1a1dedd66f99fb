#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Two guests with all devices: rping from the first to the second guest on rxe, a second rxe, a VLAN and siw. The
# first guest can drop packets with netem, and power off the second.

# shellcheck source=tests/lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs_siw

cat >"$WORK/peer" <<'EOF'
for addr in "$LAB_ADDR" "$LAB_SECOND_ADDR" "$LAB_VLAN_ADDR" "$LAB_VLAN_ADDR6" "$LAB_SIW_ADDR"; do
	rping -s -P -a "$addr" &
done
until [ "$(rdma resource show cm_id | grep -c LISTEN)" = 5 ]; do sleep 0.1; done
echo "on $(cat /proc/sys/kernel/hostname), ports open"
touch "$LAB_SHARED/open"
wait
EOF

# The last rping must not reach a guest that is off: its first packet gets no answer.
cat >"$WORK/command" <<'EOF'
set -e
until [ -e "$LAB_SHARED/open" ]; do sleep 0.1; done
rdma link
cat "/sys/class/infiniband/$LAB_SECOND_DEV/ports/1/state"
for addr in "$LAB_PEER_ADDR" "$LAB_PEER_SECOND_ADDR" "$LAB_PEER_VLAN_ADDR" "$LAB_PEER_VLAN_ADDR6" "$LAB_PEER_SIW_ADDR"; do
	rping -c -a "$addr" -C 100 -v | tail -n 1 | sed "s/^/$addr /"
done
grep 'VID: 7' /proc/net/vlan/rdma0.7
tc qdisc add dev rdma0 root netem delay 300ms
rping -c -a "$LAB_PEER_ADDR" -C 1 -v | grep rdma-ping-0
tc -s qdisc show dev rdma0 | grep Sent
tc qdisc del dev rdma0 root
lab/peer-off
echo peer is off
if timeout 2 rping -c -a "$LAB_PEER_ADDR" -C 1; then exit 3; fi
exit 4
EOF

cd "$ROOT"
run_booted two --deadline 600 --time --second --vlan --siw --peer "sh $WORK/peer" -- sh "$WORK/command"
expect_status two 4
for device in rxe0 rxe1 siw0; do expect_text two out "^link $device/1 state ACTIVE"; done
for addr in 10.76.0.2 10.78.0.2 10.76.7.2 fd00:76:7::2 10.77.0.2; do
	expect_text two out "^${addr//./\\.} .*rdma-ping-99"
done
expect_text two out 'VID: 7'
expect_text two out 'Sent [1-9]'
expect_text two out '^peer is off$'
expect_text two err '^peer: on lab-b, ports open$'
expect_text two err '^lab: switching the second guest off$'
grep '^lab: time' "$WORK/two.err"
