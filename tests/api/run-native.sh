#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Plays the API cases that need no RDMA device against daemons on this machine.
#
# usage: tests/api/run-native.sh [BUILDDIR [OPTION OF run.mjs…]]
#
# BUILDDIR is build/dev by default. API_LOGS names a folder for the daemons' logs of a failed run.

set -euo pipefail
# shellcheck source=tests/api/daemons.sh
. "$(dirname "${BASH_SOURCE[0]}")/daemons.sh"

main() {
	local ports
	prepare_run "${1:-build/dev}"
	mapfile -t ports < <(free_ports 2)
	start_daemon a "${ports[0]}"
	start_small_daemon "${ports[1]}"
	play --set native "${token_vars[@]}" "${@:2}" "http://127.0.0.1:${ports[0]}"
	stop_daemons a t
	summary
}

main "$@"
