#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Usage: tree.sh CMAKE BUILD_FOLDER CONFIG FILE...
# An installation has these files (under its prefix) and this configuration, also that of a build without tests, of which
# only the programs were built. The contracts have the version of the programs. An edited configuration is not overwritten.
# systemd accepts the unit and the socket, and finds the unit safe.
set -euo pipefail

cmake=$1
build=$2
config=$3
shift 3
source=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tree=$scratch/tree

# install_tree BUILD_FOLDER FILE...: installs it, and looks for the files
install_tree() {
	local build=$1 file missing=0
	shift
	# DESTDIR precedes absolute paths too, so that nothing is written into the machine itself.
	DESTDIR=$tree "$cmake" --install "$build" --prefix /usr/local >/dev/null
	for file in "$config" "${@/#//usr/local/}"; do
		if [ ! -s "$tree$file" ]; then
			echo "not installed: $file"
			missing=1
		fi
	done
	return "$missing"
}

# The programs of the build itself take the place of those that the build without tests would make in minutes. Its dry
# run tells which other files are made with them.
install_without_tests() {
	local partial=$scratch/partial prefix made
	prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$build/CMakeCache.txt")
	"$cmake" -S "$source" -B "$partial" -G Ninja -DCMAKE_INSTALL_PREFIX="$prefix" -DBUILD_TESTING=OFF -DVBD_WEB=OFF >/dev/null
	made=$("$cmake" --build "$partial" --target verbsd verbsctl -- -n)
	if ! grep -q 'VBD_SCDOC:.*NOTFOUND' "$partial/CMakeCache.txt"; then
		if [[ $made != *"Generating verbsd.8"* ]]; then
			echo "a build of the programs makes no man pages"
			return 1
		fi
		"$cmake" --build "$partial" --target man >/dev/null
	fi
	cp "$build/cmd/verbsd" "$build/cmd/verbsctl" "$partial/cmd/"
	install_tree "$partial" "$@"
}

install_without_tests "$@"
rm -rf "$tree"
install_tree "$build" "$@"

version=$("$tree/usr/local/bin/verbsd" --version | cut -d ' ' -f 2)
for contract in openapi openapi-extra; do
	if ! grep -qx "  version: $version" "$tree/usr/local/share/verbsd/$contract.yaml"; then
		echo "$contract.yaml is not of version $version, which is that of verbsd"
		exit 1
	fi
done

# The dashboard is part of the program; no file of it is installed.
if [ "${WITH_WEB:-}" = 1 ] && ! grep -qa '<div id="app"></div>' "$tree/usr/local/bin/verbsd"; then
	echo "the installed verbsd has no dashboard in it"
	exit 1
fi

echo 'workers: 2' >"$tree$config"
install_tree "$build"
if [ "$(cat "$tree$config")" != 'workers: 2' ]; then
	echo "an edited configuration was overwritten"
	exit 1
fi

if ! command -v systemd-analyze >/dev/null; then
	echo "systemd-analyze is not installed: the unit was not verified"
	exit 0
fi
# The units' programs and man pages are not at their final paths.
mkdir "$tree/units"
for unit in verbsd.service verbsd@.service verbsd.socket; do
	sed -e 's,^ExecStart=[^ ]*,ExecStart=/bin/true,' -e '/^Documentation=/d' \
		"$tree/usr/local/lib/systemd/system/$unit" >"$tree/units/$unit"
done
for unit in "$tree"/units/*; do
	if ! systemd-analyze verify "$unit" >"$tree/said" 2>&1 || [ -s "$tree/said" ]; then
		echo "systemd does not like ${unit##*/}:"
		cat "$tree/said"
		exit 1
	fi
done

# The most that the unit may be exposed, in tenths: raise it with a reason only.
if ! systemd-analyze security --offline=true --threshold=15 "$tree"/units/*.service >"$tree/said" 2>&1; then
	echo "systemd finds the unit less safe than before:"
	cat "$tree/said"
	exit 1
fi
