#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# examples.sh BUILDDIR: see examples.mjs.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=tests/lint/lib.sh
. "$here/../lint/lib.sh"

for program in node curl jq; do
	lint_need "$program"
done
exec node "$here/examples.mjs" "$1"
