#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Usage: tree.sh CMAKE BUILD_FOLDER FILE...
# An installation has these files (under its prefix), leaves an edited configuration alone, and its
# unit is one that systemd takes.
set -euo pipefail

cmake=$1
build=$2
shift 2
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

install_tree() {
	"$cmake" --install "$build" --prefix "$tree/usr/local" >/dev/null
}

install_tree
missing=0
for file; do
	if [ ! -s "$tree/usr/local/$file" ]; then
		echo "not installed: $file"
		missing=1
	fi
done
[ "$missing" -eq 0 ]

config=$tree/usr/local/etc/verbsd/verbsd.yaml
echo 'workers: 2' >"$config"
install_tree
if [ "$(cat "$config")" != 'workers: 2' ]; then
	echo "an edited configuration was overwritten"
	exit 1
fi

if ! command -v systemd-analyze >/dev/null; then
	echo "systemd-analyze is not installed: the unit was not verified"
	exit 0
fi
# The programs of the unit are not where it says, and neither are its man pages.
sed -e 's,^ExecStart=[^ ]*,ExecStart=/bin/true,' -e '/^Documentation=/d' \
	"$tree/usr/local/lib/systemd/system/verbsd.service" >"$tree/verbsd.service"
if ! systemd-analyze verify "$tree/verbsd.service" >"$tree/said" 2>&1 || [ -s "$tree/said" ]; then
	echo "systemd does not like the unit:"
	cat "$tree/said"
	exit 1
fi
