#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --second and --vlan give each of two guests a second device and a VLAN, and rping crosses on both.

# shellcheck source=tests/lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs_guest

cat >"$WORK/peer" <<'EOF'
for addr in "$LAB_SECOND_ADDR" "$LAB_VLAN_ADDR" "$LAB_VLAN_ADDR6"; do rping -s -P -a "$addr" & done
until [ "$(rdma resource show cm_id | grep -c LISTEN)" = 3 ]; do sleep 0.1; done
touch "$LAB_SHARED/open"
wait
EOF

cat >"$WORK/command" <<'EOF'
set -e
until [ -e "$LAB_SHARED/open" ]; do sleep 0.1; done
rdma link
cat "/sys/class/infiniband/$LAB_SECOND_DEV/ports/1/state"
for addr in "$LAB_PEER_SECOND_ADDR" "$LAB_PEER_VLAN_ADDR" "$LAB_PEER_VLAN_ADDR6"; do
	rping -c -a "$addr" -C 3 -v | tail -n 1 | sed "s/^/$addr /"
done
grep 'VID: 7' /proc/net/vlan/rdma0.7
EOF

run_booted more --deadline 120 --second --vlan --peer "sh $WORK/peer" -- sh "$WORK/command"
expect_status more 0
expect_text more out '^link rxe1/1 state ACTIVE .*netdev rdma1'
expect_text more out '^10\.78\.0\.2 .*rdma-ping-2'
expect_text more out '^10\.76\.7\.2 .*rdma-ping-2'
expect_text more out '^fd00:76:7::2 .*rdma-ping-2'
expect_text more out 'VID: 7'
