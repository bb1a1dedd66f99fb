#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests of the runner and of the cases themselves, without a daemon.

set -euo pipefail
# shellcheck source=tests/api/daemons.sh
. "$(dirname "${BASH_SOURCE[0]}")/daemons.sh"

need_packages
exec node --test "$API_DIR"/selftest/*.test.mjs
