#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Usage: package.sh CHANGES
# lintian has nothing to say of the packages that the file CHANGES lists. package_inside.sh tries those beside it in a fresh
# Debian of this machine's release, in namespaces of its own and without a network. Needs root and mmdebstrap.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
changes=$1
folder=$(cd "$(dirname "$changes")" && pwd)
cache=${VERBSD_LAB_CACHE:-$here/../../build/lab}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
packages=(verbsd verbsctl)

version=$(sed -n 's/^Version: \(.*\)-1$/\1/p' "$changes")
older=0.0.9

# dependencies: the packages on which ours depend. A root without systemd suffices.
dependencies() {
	local package
	for package in "${packages[@]}"; do
		dpkg-deb -f "$folder/${package}_${version}"_*.deb Depends
	done | tr ',' '\n' | sed -E 's/^ *([^ ]+).*/\1/; s/^systemd$/systemd-standalone-sysusers/' | sort -u
}

# make_root FOLDER: a fresh Debian that has the dependencies, from the cache
make_root() {
	local names suite image
	names=$(dependencies | paste -sd ,)
	suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	image=$cache/$suite-$(sha256sum <<<"$names" | cut -c 1-12).tar
	if [ ! -e "$image" ]; then
		mkdir -p "$cache"
		mmdebstrap --variant=minbase --include="$names" --format=tar "$suite" "$image.new" 2>"$scratch/said" || {
			cat "$scratch/said"
			echo "SKIPPED: mmdebstrap can't make a root of $suite here, as it says above"
			exit 77
		}
		mv "$image.new" "$image"
	fi
	mkdir "$1"
	tar -xf "$image" -C "$1"
}

# make_older DEB FOLDER: the same package of an older version, with another configuration
make_older() {
	local tree=$scratch/older
	dpkg-deb -R "$1" "$tree"
	sed -i "s/^Version: .*/Version: $older/" "$tree/DEBIAN/control"
	[ ! -e "$tree/etc" ] || sed -i '2i# An older version.' "$tree/etc/verbsd/verbsd.yaml"
	dpkg-deb --root-owner-group -b "$tree" "$2" >/dev/null
	rm -r "$tree"
}

for package in "${packages[@]}"; do
	dpkg-deb -f "$folder/$package-dbgsym_${version}"_*.deb Build-Ids | grep -q .
done
# lintian leaves databases in TMPDIR.
TMPDIR=$scratch lintian --allow-root --pedantic --display-info --fail-on error,warning,info,pedantic "$changes"

make_root "$scratch/root"
mkdir -p "$scratch/root/packages"/{new,older}
for package in "${packages[@]}"; do
	cp "$folder/${package}_${version}"_*.deb "$scratch/root/packages/new/"
	make_older "$folder/${package}_${version}"_*.deb "$scratch/root/packages/older"
done
cp "$here"/{package_inside,linked}.sh "$scratch/root/packages/"
# The root may lie where device files do not work, as in a /tmp of its own.
# shellcheck disable=SC2016 # the inner shell expands
unshare --mount --pid --fork --kill-child --net --ipc --uts bash -euc '
	mount --bind /dev "$1/dev"
	mount -t proc proc "$1/proc"
	exec chroot "$1" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive \
		/bin/bash /packages/package_inside.sh "$2"' bash "$scratch/root" "$version" </dev/null
