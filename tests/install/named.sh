#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Usage: named.sh CMAKE BUILD_FOLDER
# Each file of the project that an installed text names is installed: by a man page, the configuration, the unit, the
# contract, the examples and the files for monitoring. None names a file of the repository. Each relative link of an installed
# page leads to an installed file.
set -euo pipefail

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
DESTDIR=$tree "$1" --install "$2" --prefix /usr >/dev/null

texts=("$tree"/{,usr/}etc "$tree/usr/lib/systemd" "$tree"/usr/share/{man,verbsd,doc/verbsd/examples})
# scdoc writes a full stop as .\& and a hyphen as \-.
mapfile -t names < <(grep -rhsE '/usr/share/|docs/[a-z]' "${texts[@]}" | sed 's/\\&//g; s/\\-/-/g' |
	grep -oE '/usr/share/[[:alnum:]./_-]*[[:alnum:]]|docs/[[:alnum:]./_-]*[[:alnum:]]' | sort -u)
missing=${#names[@]}
for name in "${names[@]}"; do
	if [[ $name == /usr/* && -e $tree$name ]]; then
		missing=$((missing - 1))
	else
		echo "an installed text names a file that is not installed: $name"
	fi
done
"$(dirname "$0")/linked.sh" "$tree/usr/share/doc/verbsd"
[[ ${#names[@]} -gt 0 && $missing -eq 0 ]]
