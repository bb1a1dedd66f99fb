#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A panic of the guest's kernel is reported with the end of the console, and ends the run with 125.
# (The output of CMD is on the host as soon as the guest has copied it: the panic waits for that.)

# shellcheck source=tests/lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs_guest

run panic --results "$WORK/results" --deadline 900 -- \
	sh -c 'echo before; until grep -q before /run/lab/a/stdout; do :; done
		echo 1 >/proc/sys/kernel/sysrq; echo c >/proc/sysrq-trigger'
expect_status panic 125
expect_text panic out '^before$'
expect_text panic err '^lab: the kernel of the guest panicked before CMD had ended$'
expect_text panic err '^lab: guest kernel: .*Kernel panic - not syncing: sysrq triggered crash'
grep -q 'Call Trace' "$WORK/results/console-a.log" || fail "no console log among the results"
