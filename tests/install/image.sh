#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Usage: image.sh ROOT ARCHIVE
# For a guest of the lab: the commands of docs/install.md under "Container", as printed. A second container has the options of
# contrib/kubernetes/verbsd.yaml, as far as podman has them, and connects to the first.
set -euo pipefail

root=$1
archive=$2
scratch=$(mktemp -d)
# Podman can't use the guest's own files, which are an overlay, nor containers of the host.
mkdir -p /var/lib/containers
mount -t tmpfs containers /var/lib/containers

fail() {
	echo "$*"
	exit 1
}

# same WHAT FOUND WANTED
same() { [ "$2" = "$3" ] || fail "$1: found \"$2\", wanted \"$3\""; }

step() { echo "-- $*"; }

# later COMMAND…: until it succeeds
later() {
	local i
	for ((i = 0; i < 60; i++)); do
		! "$@" >"$scratch/said" 2>&1 || return 0
		sleep 1
	done
	fail "in vain: $*: $(<"$scratch/said")"
}

# A person types a line after some time.
sudo() {
	if [ "$2" = exec ]; then later "$@"; else "$@"; fi
}

# ctl CONTAINER ARG…: its verbsctl
ctl() { podman exec -i "$1" verbsctl "${@:2}"; }

sum_of() { ctl verbsd buf sum "$1" | cut -d ' ' -f 1; }

step "docs/install.md"
mkdir -p "$scratch/build/package"
ln -s "$archive" "$scratch/build/package/"
cd "$scratch"
awk '/^## / { on = /Container/ } on && /^```/ { inside = /^```sh/; next } on && inside && !/^scripts\/package/' \
	"$root/docs/install.md" >commands
same "commands of the section" "$(grep -c "^sudo " commands)" 4
# shellcheck source=/dev/null
. ./commands
grep -q "^  status *ok$" said || fail "not ready: $(<said)"

step "the container of Kubernetes"
mapfile -t args < <(sed -n 's/^ *args: \[\(.*\)\]$/\1/p' "$root/contrib/kubernetes/verbsd.yaml" | tr -d '"' | sed 's/, /\n/g')
mkdir state secret secret/..data
(umask 377 && echo 0123456789abcdef0123456789abcdef >secret/..data/control)
ln -s ..data/control secret/control
poor=(podman run -d --network host --device /dev/infiniband --ulimit memlock=65536:65536 --read-only --cap-drop ALL
	--security-opt no-new-privileges)
"${poor[@]}" --name pod --user 0:0 --cap-add IPC_LOCK --tmpfs /run/verbsd:mode=0777 -v "$PWD/state:/var/lib/verbsd" \
	-v "$PWD/secret:/etc/verbsd/secret:ro" verbsd "${args[@]}"
later curl -sf http://127.0.0.1:7480/readyz
curl -sf http://127.0.0.1:7480/livez >said
same "a client without a token" "$(curl -s -o said -w '%{http_code}' http://127.0.0.1:7480/v1/connections)" 401

step "a connection"
ctl verbsd listen 0.0.0.0:7471 --name door
ctl pod connect "$LAB_ADDR:7471" --name out
ctl pod send out "hello from Kubernetes"
id=$(ctl verbsd ls --json | jq '.items[0].id')
same "the message" "$(ctl verbsd recv "$id" -n 1)" "hello from Kubernetes"
ctl pod buf create large --size 1M

step "the limit of locked memory counts"
"${poor[@]}" --name poor verbsd
later ctl poor status
! ctl poor buf create large --size 1M >said 2>&1 || fail "--ulimit memlock is not needed"
grep -qi memlock said || fail "wanted a word on memlock, got: $(<said)"

step "a restart"
for name in well zeros; do
	ctl verbsd buf create $name --size 8 --kind shared --keep
done
printf 12345678 | ctl verbsd buf put well -
[ "$(sum_of well)" != "$(sum_of zeros)" ] || fail "bytes do not change the checksum"
podman restart verbsd
later ctl verbsd status
same "runs in the event log" "$(ctl verbsd events | grep -c daemon_started)" 2
same "a kept buffer" "$(sum_of well)" "$(sum_of zeros)"
podman stop verbsd
same "status of the end" "$(podman inspect -f '{{.State.ExitCode}}' verbsd)" 0
! podman logs verbsd 2>&1 | grep -v " info \| notice " || fail "the log has more than notices, as above"
