#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Wrong usage is refused with status 2 and a message, before anything starts.

# shellcheck source=tests/lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

refused() {
	local wanted=$1
	shift
	run usage "$@"
	expect_status usage 2
	expect_text usage err "$wanted"
	[[ ! -s $WORK/usage.out ]] || fail "something on stdout"
}

refused '^usage: lab/run'
refused '^usage: lab/run' --
refused 'unknown option --nonsense' --nonsense true
refused '--deadline wants a value' --deadline
refused '--deadline wants a number' --deadline 0 true
refused '--memory wants a number' --memory lots true
refused '--forward wants' --forward 80:99999 true
refused '--forward wants' --forward x true
refused '--env wants NAME=VALUE' --env =x true
refused '--peer needs guests' --native --peer true true
refused '--peer-disk needs --peer' --peer-disk 64 true
refused '--counted needs guests' --native --counted true
refused '--counted wants a guest alone' --counted --cpus 2 true
refused '--second needs guests' --native --second true
refused '--systemd needs guests' --native --systemd true

run help --help
expect_status help 0
for option in siw second vlan systemd forward peer peer-disk results deadline memory cpus env time guest native; do
	expect_text help out "^  --$option|, --$option"
done
