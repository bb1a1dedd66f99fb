#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Plays the API cases that a scripted RDMA device can do against daemons on this machine. See tests/fake/fake_device.c.
#
# usage: tests/api/run-fake.sh [BUILDDIR [OPTION OF run.mjs…]]
#
# BUILDDIR is build/dev by default. API_LOGS names a folder for the daemons' logs of a failed run.

set -euo pipefail
# shellcheck source=tests/api/daemons.sh
. "$(dirname "${BASH_SOURCE[0]}")/daemons.sh"

main() {
	local ports build=${1:-build/dev}
	prepare_run "$build"
	verbsd=$(realpath -e "$build/tests/fake/verbsd_fake") || die "no tests/fake/verbsd_fake in $build"
	mapfile -t ports < <(free_ports 2)
	start_daemon a "${ports[0]}"
	start_small_daemon "${ports[1]}"
	play --set fake --var LAB_DEV=fake0 --var LAB_ADDR=10.0.0.1 "${token_vars[@]}" "${@:2}" "http://127.0.0.1:${ports[0]}"
	stop_daemons a t
	summary
}

main "$@"
