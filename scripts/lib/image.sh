# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Makes an image archive of the OCI (https://github.com/opencontainers/image-spec) from the Debian packages and from the
# libraries of this machine. Sourced, never run.

# No user of a usual host has this number.
readonly IMAGE_USER=65532
readonly IMAGE_BYTES_MAX=20000000

# libraries PROGRAM…: those that the programs load
libraries() { ldd "$@" | awk '$2 == "=>" { print $3 } NF == 2 && /^\t\// { print $1 }' | sort -u; }

# package_of FILE: the package that has it, under either of its names where /lib is a link to /usr/lib
package_of() { { dpkg -S "$1" 2>/dev/null || dpkg -S "/usr$1" 2>/dev/null || dpkg -S "${1#/usr}"; } | sed 's/:.*//;q'; }

# make_image_root DEBS WORK: the files of the image in WORK/root. Licences and versions of all packages are there, for people
# and for programs that look for known vulnerabilities.
make_image_root() {
	local root=$2/root packages=$2/packages deb file package providers files
	for deb in "$1"/verbs{d,ctl}_*.deb; do
		dpkg-deb -x "$deb" "$packages"
	done
	mkdir -p "$root"/{etc/verbsd,run/verbsd,tmp,usr/bin,var/lib/{verbsd,dpkg/status.d}} "$root/usr/share/doc/verbsd"
	cp "$packages"/usr/bin/* "$root/usr/bin"
	cp "$packages/usr/share/doc/verbsd/copyright" "$root/usr/share/doc/verbsd"
	sed '/^log_format:/d' "$packages/etc/verbsd/verbsd.yaml" >"$root/etc/verbsd/verbsd.yaml"
	printf '%s\n' "root:x:0:0:::" "verbsd:x:$IMAGE_USER:$IMAGE_USER::/var/lib/verbsd:" >"$root/etc/passwd"
	printf '%s\n' "root:x:0:" "verbsd:x:$IMAGE_USER:" >"$root/etc/group"
	mapfile -t providers < <(dpkg -L ibverbs-providers | grep -E '/libibverbs/|/etc/.*\.driver$')
	mapfile -t files < <(libraries "$root"/usr/bin/* "${providers[@]}" 2>/dev/null)
	cp -L --parents "${files[@]}" "${providers[@]}" "$root"
	for file in "${files[@]}" "${providers[0]}"; do
		package_of "$file"
	done | sort -u | while read -r package; do
		cp -L --parents "/usr/share/doc/$package/copyright" "$root"
		dpkg-query -s "$package" >"$root/var/lib/dpkg/status.d/$package"
	done
}

# add_blob FILE MEDIA_TYPE: moves it into the image, and prints the members of its descriptor
add_blob() {
	local digest size
	digest=$(sha256sum <"$1" | cut -d ' ' -f 1)
	size=$(stat -c %s "$1")
	mv "$1" "$image/blobs/sha256/$digest"
	printf '"mediaType": "%s", "digest": "sha256:%s", "size": %d' "$2" "$digest" "$size"
}

# print_config DIFF_ID: the configuration of the image
print_config() {
	cat <<-EOT
	{
	  "created": "$(date -u -d "@$date" +%FT%TZ)", "architecture": "$(dpkg --print-architecture)", "os": "linux",
	  "config": {
	    "User": "$IMAGE_USER:$IMAGE_USER",
	    "Env": ["PATH=/usr/bin", "STATE_DIRECTORY=/var/lib/verbsd"],
	    "Entrypoint": ["/usr/bin/verbsd", "--config", "/etc/verbsd/verbsd.yaml"],
	    "Volumes": {"/run/verbsd": {}, "/var/lib/verbsd": {}},
	    "Labels": {"org.opencontainers.image.version": "$version", "org.opencontainers.image.licenses": "Apache-2.0"}
	  },
	  "rootfs": {"type": "layers", "diff_ids": ["sha256:$1"]}
	}
	EOT
}

# make_image DEBS WORK FILE: $version and $date are those of the commit
make_image() {
	local work=$2 image=$2/image type=application/vnd.oci.image layer config
	local tar=(tar --format=gnu --mtime="@$date" --numeric-owner --mode=u+rw,go+rX,go-w --no-recursion)
	mkdir -p "$image/blobs/sha256"
	make_image_root "$1" "$work"
	(cd "$work/root" && find . -mindepth 1 ! -path ./run/verbsd ! -path ./var/lib/verbsd -print0 | sort -z |
		"${tar[@]}" -cf "$work/layer" --owner=0 --group=0 --null -T -)
	"${tar[@]}" -rf "$work/layer" -C "$work/root" --owner=$IMAGE_USER --group=$IMAGE_USER ./run/verbsd ./var/lib/verbsd
	print_config "$(sha256sum <"$work/layer" | cut -d ' ' -f 1)" >"$work/config"
	gzip -9n "$work/layer"
	layer=$(add_blob "$work/layer.gz" $type.layer.v1.tar+gzip)
	config=$(add_blob "$work/config" $type.config.v1+json)
	printf '{"schemaVersion": 2, "mediaType": "%s", "config": {%s}, "layers": [{%s}]}\n' $type.manifest.v1+json "$config" "$layer" \
		>"$work/manifest"
	printf '{"schemaVersion": 2, "manifests": [{%s, "annotations": {"org.opencontainers.image.ref.name": "verbsd:latest"}}]}\n' \
		"$(add_blob "$work/manifest" $type.manifest.v1+json)" >"$image/index.json"
	echo '{"imageLayoutVersion": "1.0.0"}' >"$image/oci-layout"
	(cd "$image" && find . -type f -print0 | sort -z | "${tar[@]}" -cf "$3" --owner=0 --group=0 --null -T -)
	rm -r "$work/root" "$work/packages" "$image"
	(($(stat -c %s "$3") <= IMAGE_BYTES_MAX)) || die "the image has more than $IMAGE_BYTES_MAX bytes"
}
