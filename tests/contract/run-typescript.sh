#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes TypeScript types from openapi.yaml, compiles client.mts with them, and runs it against a daemon.
#
# usage: tests/contract/run-typescript.sh [BUILDDIR]
#
# BUILDDIR is build/dev by default.

set -euo pipefail
CONTRACT_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/api/daemons.sh
. "$CONTRACT_DIR/../api/daemons.sh"

need_compiler() {
	[[ -d $CONTRACT_DIR/node_modules/typescript ]] && return
	echo "skipped: the npm packages are missing: run npm ci in $CONTRACT_DIR"
	exit "$STATUS_SKIPPED"
}

# compile FOLDER: leaves client.mjs there
compile() {
	local bin=$CONTRACT_DIR/node_modules/.bin
	cp "$CONTRACT_DIR/client.mts" "$1"
	# A member with a default may be left out of a request.
	"$bin/openapi-typescript" "$CONTRACT_DIR/../../openapi.yaml" --default-non-nullable=false \
		--output "$1/types.mts" >"$1/types.log" 2>&1 || { cat "$1/types.log" && return 1; }
	(cd "$1" && "$bin/tsc" --strict --noUncheckedIndexedAccess --target ES2022 --module NodeNext \
		--lib ES2022,DOM,DOM.Iterable client.mts)
}

main() {
	local port
	need_compiler
	prepare_run "${1:-build/dev}"
	compile "$work"
	port=$(free_ports 1)
	start_daemon a "$port"
	node "$work/client.mjs" "http://127.0.0.1:$port"
	stop_daemon a
}

main "$@"
