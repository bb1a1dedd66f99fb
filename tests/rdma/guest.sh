#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# guest.sh SUITE BUILDDIR [PART]: runs SUITE.mjs with the verbsd of BUILDDIR in the lab, only the scenarios with PART
# in their name. Exits with the status of the suite, with 77 if there can't be a lab, or with 75 if the guest could not
# boot. The output of a complete suite is also written to BUILDDIR/tests/rdma/SUITE.txt, for verbs-table.mjs.
# SUITE may be several, separated by commas, which run one after the other in one guest; of SUITE:TEXT only the scenarios
# with TEXT in their name run.

set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
root=$(realpath "$here/../..")
suite=$1 build=$(realpath "$2")
DEADLINE_S=2400
[[ -z ${CROWD_COUNT:-}${OWNERS:-} ]] || DEADLINE_S=7200 # the long forms of crowd and refused
[[ $suite != soak ]] || DEADLINE_S=$((${SOAK_SECONDS:-3600} + 900))
# On an emulated processor, node's optimizing compiler costs more than it saves.
NODE=(node --no-opt --max-lazy)

skip() {
	echo "skipped: $*"
	exit 77
}

command -v node >/dev/null || skip "there is no node"
for program in rping ucmatose rdma_client rdma_server ibv_rc_pingpong ibv_uc_pingpong udaddy mckey ibv_ud_pingpong; do
	command -v "$program" >/dev/null || skip "there is no $program (Debian: rdmacm-utils, ibverbs-utils)"
done
# need SUITE PROGRAM…
need() {
	local program
	for program in "${@:2}"; do
		command -v "$program" >/dev/null || skip "there is no $program, which $1 needs"
	done
}

options=(--deadline "$DEADLINE_S" --results "$build/tests/rdma/${suite//[,:]/-}")
prepare=()
for one in ${suite//,/ }; do
	case ${one%%:*} in
	metrics) need metrics promtool ;;
	memory) need memory python3 ;;
	examples) need examples prometheus curl jq ;;
	systemd)
		[[ -x /lib/systemd/systemd ]] || skip "there is no systemd"
		compgen -G "$build/package/verbsd_*.deb" >/dev/null || skip "there are no packages: scripts/package --output $build/package"
		;;
	pages) need pages /usr/sbin/sshd curl jq ;;
	reader) [[ -d $root/tests/api/node_modules ]] || skip "there is no tests/api/node_modules (npm ci there)" ;;
	esac
	case ${one%%:*} in
	explain_two) options+=(--siw) prepare=(--siw) ;;&
	explain_two | two_guests) options+=(--peer "${NODE[*]} '$here/two_guests_peer.mjs' '$build'") ;;
	reboot) options+=(--peer-disk 64 --peer "${NODE[*]} '$here/reboot_peer.mjs' '$build'") ;;
	memory) options+=(--memory 2560 --siw) prepare=(--siw) ;;
	explain | refused | services | silent | verbs | ways) options+=(--siw) prepare=(--siw) ;;
	crowd | flood | load | soak) options+=(--cpus 2) ;; # the attacker has a processor of its own; races need two
	manual | ud) options+=(--vlan) ;;
	systemd) options+=(--systemd --second) ;;
	network | knobs) options+=(--siw --second --vlan) prepare=(--siw) ;;
	esac
done
[[ -z ${CROWD_COUNT:-} ]] || options+=(--memory 4096) # both ends of thousands, with what ASan adds
"$root/lab/prepare" "${prepare[@]}" || skip "lab/prepare failed, as it says above"

# The guest does not inherit the environment.
for name in ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS CROWD_COUNT OWNERS STILL_S LOAD_SEED LOAD_REQUESTS LOAD_LANES \
	LOAD_TRACE SOAK_REQUESTS SOAK_SECONDS SOAK_READERS SOAK_OUT; do
	[[ -z ${!name:-} ]] || options+=(--env "$name=${!name}")
done
output=/dev/null
if (($# == 2)) && [[ $suite != *[,:]* ]]; then
	mkdir -p "$build/tests/rdma"
	output=$build/tests/rdma/$suite.txt
fi
command=("${NODE[@]}" "$here/$suite.mjs" "$build" "${@:3}")
if [[ $suite == *[,:]* ]]; then
	# shellcheck disable=SC2016 # the guest's shell expands it
	command=(sh -c 'IFS=,; status=0
		for suite in $1; do
			echo "== $suite"
			part=${suite#*:}
			[ "$part" != "$suite" ] || part=
			'"${NODE[*]}"' "$2/${suite%%:*}.mjs" "$3" "$part" || status=1
		done
		exit "$status"' - "$suite" "$here" "$build")
fi
status=0
"$root/lab/run" "${options[@]}" -- "${command[@]}" | tee "$output" || status=$?
((status != 125)) || {
	echo "machine: the guest of $suite could not boot, as lab/run says above"
	exit 75
}
exit "$status"
