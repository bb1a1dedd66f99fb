#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# See dashboard.mjs.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=tests/lint/lib.sh
. "$here/../lint/lib.sh"

lint_need node
lint_need promtool
exec node "$here/dashboard.mjs"
