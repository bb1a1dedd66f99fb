#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --siw gives a second device, of iWARP, that carries rping.

# shellcheck source=tests/lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs_siw

# shellcheck disable=SC2016 # expanded in the guest
run siw --siw --deadline 200 -- sh -c 'rdma link
	rping -s -a "$LAB_SIW_ADDR" -C 10 &
	until rdma resource show cm_id | grep -q LISTEN; do sleep 0.1; done
	rping -c -a "$LAB_SIW_ADDR" -C 10 -v'
expect_status siw 0
expect_text siw out '^link rxe0/1 state ACTIVE'
expect_text siw out '^link siw0/1 state ACTIVE'
expect_text siw out 'rdma-ping-9'
