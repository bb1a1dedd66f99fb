#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A command that fails: its status and output are returned, processes that it leaves behind do not
# delay the end of the guest, and a complaint of the guest's kernel is reported.

# shellcheck source=tests/lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs_guest

run fail -- sh -c 'sleep 1000 & echo "<4>WARNING: made up by a test" >/dev/kmsg; echo last words >&2; exit 7'
expect_status fail 7
expect_text fail err '^last words$'
expect_text fail err '^lab: guest kernel: .*WARNING: made up by a test'
[[ ! -s $WORK/fail.out ]] || fail "something on stdout"
