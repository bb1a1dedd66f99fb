#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# guest.sh SUITE BUILDDIR [PART]: plays SUITE.mjs with the verbsd of BUILDDIR in the lab, only those scenarios whose
# name has PART in it. The status of the suite, or 77 where there can't be a lab. What a whole suite says is also put
# into BUILDDIR/tests/rdma/SUITE.txt, for verbs-table.mjs.

set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
root=$(realpath "$here/../..")
suite=$1 build=$(realpath "$2")
DEADLINE_S=540
# Where the processor is emulated, code that node makes better while it runs costs more than it saves.
NODE=(node --no-opt --max-lazy)

skip() {
	echo "skipped: $*"
	exit 77
}

command -v node >/dev/null || skip "there is no node"
for program in rping ucmatose rdma_client rdma_server ibv_rc_pingpong ibv_uc_pingpong udaddy mckey ibv_ud_pingpong; do
	command -v "$program" >/dev/null || skip "there is no $program (Debian: rdmacm-utils, ibverbs-utils)"
done
[[ $suite != metrics ]] || command -v promtool >/dev/null || skip "there is no promtool (Debian: prometheus)"
if [[ $suite == examples ]]; then
	for program in prometheus curl jq python3; do
		command -v "$program" >/dev/null || skip "there is no $program"
	done
fi
options=(--deadline "$DEADLINE_S" --results "$build/tests/rdma/$suite")
prepare=()
case $suite in
two_guests) options+=(--peer "${NODE[*]} '$here/two_guests_peer.mjs' '$build'") ;;
memory) options+=(--memory 2560 --siw) prepare=(--siw) ;;
services | verbs | ways) options+=(--siw) prepare=(--siw) ;;
load) options+=(--cpus 2) ;; # races want two
manual | ud) options+=(--vlan) ;;
network | knobs) options+=(--siw --second --vlan) prepare=(--siw) ;;
esac
"$root/lab/prepare" "${prepare[@]}" || skip "lab/prepare failed, as it says above"

# The guest has an environment of its own.
for name in ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS LOAD_SEED LOAD_REQUESTS LOAD_LANES LOAD_TRACE; do
	[[ -z ${!name:-} ]] || options+=(--env "$name=${!name}")
done
output=/dev/null
if (($# == 2)); then
	mkdir -p "$build/tests/rdma"
	output=$build/tests/rdma/$suite.txt
fi
"$root/lab/run" "${options[@]}" -- "${NODE[@]}" "$here/$suite.mjs" "$build" "${@:3}" | tee "$output"
