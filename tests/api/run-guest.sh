#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Plays the API cases that need a real RDMA device, or with --set all every case. Run it where one is:
#
# usage: lab/run tests/api/run-guest.sh [BUILDDIR [OPTION OF run.mjs…]]
#
# BUILDDIR is build/dev by default. LAB_DEV, LAB_ADDR and LAB_ADDR6 name the device and the addresses of its interface,
# as set by lab/run. SILENT_ADDR and NOBODY_ADDR may replace the two highest addresses of its network: the first is a
# neighbour simulated here that never answers, the second one is unused. API_LOGS names a folder for the daemons' logs
# of a failed run.

set -euo pipefail
# shellcheck source=tests/api/daemons.sh
. "$(dirname "${BASH_SOURCE[0]}")/daemons.sh"

NOBODYS_UID=65534 SMALL_MEMLOCK_KIB=64
netdev='' silent_addr='' nobody_addr='' was_noarp=''

# A neighbour that never answers, and an interface that resolves addresses: a dummy interface would take every address
# for reachable.
make_neighbours() {
	local network=${LAB_ADDR%.*}
	netdev=$(<"/sys/class/infiniband/$LAB_DEV/ports/1/gid_attrs/ndevs/0")
	silent_addr=${SILENT_ADDR:-$network.253} nobody_addr=${NOBODY_ADDR:-$network.254}
	if ip link show dev "$netdev" | grep -q NOARP; then
		was_noarp=1
		ip link set dev "$netdev" arp on
	fi
	ip neigh replace "$silent_addr" lladdr 02:00:00:00:00:99 dev "$netdev" nud permanent
	trap 'forget_neighbours; clean_up' EXIT
}

forget_neighbours() {
	ip neigh del "$silent_addr" dev "$netdev" || true
	[[ -z $was_noarp ]] || ip link set dev "$netdev" arp off || true
}

# As nobody, to whom RLIMIT_MEMLOCK applies; root is exempt.
start_memlock_daemon() {
	daemon_prefix=(bash -c "ulimit -l $SMALL_MEMLOCK_KIB && exec \"\$@\"" -
		setpriv --reuid "$NOBODYS_UID" --regid "$NOBODYS_UID" --clear-groups --)
	start_daemon m "$1"
	daemon_prefix=()
}

resources() { rdma -j resource show | jq -cS .; }

# All objects of the daemons must be gone with them; the kernel frees the last ones a moment later.
resources_are_back() {
	local before=$1 tries
	for ((tries = 0; tries < PATIENCE; tries++)); do
		[[ $(resources) != "$before" ]] || return 0
		sleep 0.1
	done
	echo "     before: $before"
	echo "     after:  $(resources)"
	return 1
}

play_all() {
	local vars=("${token_vars[@]}") name
	for name in LAB_DEV LAB_ADDR LAB_ADDR6; do
		[[ -z ${!name:-} ]] || vars+=(--var "$name=${!name}")
	done
	vars+=(--var "SILENT_ADDR=$silent_addr" --var "NOBODY_ADDR=$nobody_addr")
	vars+=(--var "MEMLOCK_URL=http://127.0.0.1:${ports[3]}")
	play --set guest "${vars[@]}" "$@" "http://127.0.0.1:${ports[0]}" "http://127.0.0.1:${ports[1]}"
}

main() {
	local ports before
	[[ -n ${LAB_DEV:-} && -n ${LAB_ADDR:-} ]] || die "LAB_DEV and LAB_ADDR are not set: use lab/run"
	prepare_run "${1:-build/dev}"
	make_neighbours
	before=$(resources)
	mapfile -t ports < <(free_ports 4)
	start_daemon a "${ports[0]}"
	start_daemon b "${ports[1]}"
	start_small_daemon "${ports[2]}"
	start_memlock_daemon "${ports[3]}"
	play_all "${@:2}"
	stop_daemons a b t m
	check "no RDMA resource is left behind" resources_are_back "$before"
	summary
}

main "$@"
