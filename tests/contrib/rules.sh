#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Prometheus accepts the example of a scrape and the alert rules. Each rule fires when it should, is silent when it
# should, and has the daemon's texts.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=tests/lint/lib.sh
. "$here/../lint/lib.sh"

lint_need node
lint_need promtool
cd "$here/../../contrib/prometheus"
# promtool wants the files of an installation to be there.
promtool check config <(sed -e "s|/usr/share/verbsd/prometheus|$PWD|" -e "s|/etc/prometheus/verbsd-read.token|$PWD/prometheus.yml|" prometheus.yml)
promtool check rules verbsd.rules.yml
promtool test rules "$here/verbsd.rules.test.yml"
exec node "$here/rules.mjs" --check
