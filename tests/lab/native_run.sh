#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# On a machine with an RDMA device lab/run reports and uses it; if the kernel can make one, lab/run
# makes it. A guest of the lab is such a machine, so the test runs there.

# shellcheck source=tests/lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs_guest

cat >"$WORK/command" <<'EOF'
lab/run -- sh -c 'echo "$LAB_MODE $LAB_DEV $LAB_ADDR"; exit 5'
echo "status $?"
lab/run --deadline 1 -- sleep 1000
echo "status $?"
rdma link delete rxe0
lab/run -- sh -c 'echo "$LAB_MODE $LAB_DEV $LAB_ADDR"'
echo "status $?"
ip link del labrdma0
mount -t tmpfs none /lib/modules
rmmod rdma_rxe
lab/run --native true
echo "status $?"
EOF

cat >"$WORK/expected" <<'EOF'
native rxe0 10.76.0.1
status 5
status 124
native rxe0 10.76.0.1
status 0
status 125
EOF

cd "$ROOT"
run native --deadline 900 -- sh "$WORK/command"
expect_status native 0
diff "$WORK/expected" "$WORK/native.out" || {
	show native
	fail "the native runs went otherwise"
}
expect_text native err '^lab: running natively on rxe0, not in a guest'
expect_text native err '^lab: made the device rxe0 on labrdma0'
expect_text native err '^lab: deadline of 1 s reached'
expect_text native err "^lab: this machine has no RDMA device and can't make one"
