#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes two clients in TypeScript from openapi.yaml, types alone and functions, compiles the programs of this folder with
# them, and runs these against a daemon without a device, and against one with a scripted device.
#
# usage: tests/contract/run-typescript.sh [BUILDDIR]
#
# BUILDDIR is build/dev by default.

set -euo pipefail
CONTRACT_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/api/daemons.sh
. "$CONTRACT_DIR/../api/daemons.sh"

need_packages_here() {
	[[ -d $CONTRACT_DIR/node_modules/openapi-fetch ]] && return
	echo "skipped: the npm packages are missing: run npm ci in $CONTRACT_DIR"
	exit "$STATUS_SKIPPED"
}

# quietly NAME COMMAND…: prints the output only of a command that fails
quietly() {
	"${@:2}" >"$work/$1.log" 2>&1 || { cat "$work/$1.log" && return 1; }
}

# Leaves the programs in $work. No package.json there: Node takes what openapi-ts makes as CommonJS, which has imports
# without extensions.
compile() {
	local bin=$CONTRACT_DIR/node_modules/.bin contract=$CONTRACT_DIR/../../openapi.yaml
	cp "$CONTRACT_DIR"/*.mts "$work"
	ln -s "$CONTRACT_DIR/node_modules" "$work/node_modules"
	# A member with a default may be left out of a request.
	quietly types "$bin/openapi-typescript" "$contract" --default-non-nullable=false --output "$work/types.mts"
	# openapi-ts leaves a cache in the folder for temporary files.
	TMPDIR=$work quietly sdk "$bin/openapi-ts" --input "$contract" --output "$work/sdk" \
		--plugins @hey-api/client-fetch @hey-api/typescript @hey-api/sdk
	(cd "$work" && "$bin/tsc" --strict --noUncheckedIndexedAccess --target ES2022 --module NodeNext \
		--lib ES2022,DOM,DOM.Iterable client.mts recipes_fetch.mts recipes_sdk.mts)
}

# run_program NAME BINARY [ARG…]: runs a program against a daemon of its own
run_program() {
	local port
	port=$(free_ports 1)
	verbsd=$2
	start_daemon "$1" "$port"
	node "$work/$1.mjs" "http://127.0.0.1:$port" "${@:3}"
	stop_daemon "$1"
}

main() {
	local build=${1:-build/dev} fake
	need_packages_here
	prepare_run "$build"
	fake=$(realpath -e "$build/tests/fake/verbsd_fake") || die "no tests/fake/verbsd_fake in $build"
	compile
	run_program client "$verbsd"
	run_program recipes_fetch "$fake" 10.0.0.1
	run_program recipes_sdk "$fake" 10.0.0.1
}

main "$@"
