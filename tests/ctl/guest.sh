#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# guest.sh BIN: verbsctl controls two daemons over a real RDMA device; BIN is the folder of verbsd and verbsctl.
# Exits with 0, 1 (with the reason) or 77 (can't run here). In the lab it calls itself as guest.sh --inside BIN.

set -euo pipefail

self=$(realpath "${BASH_SOURCE[0]}")
root=$(dirname "$self")/../..

if [[ $1 != --inside ]]; then
	"$root/lab/prepare" || {
		echo "skipped: lab/prepare failed, as it says above"
		exit 77
	}
	bin=$(realpath "$1")
	exec "$root/lab/run" --deadline 1500 --results "$bin/../tests/ctl/guest" -- "$self" --inside "$bin"
fi

bin=$2
work=$(mktemp -d)
declare -a daemons=()

finish() {
	local status=$?
	if ((status)); then
		tail -n 30 "$work"/*.log
	fi
	((${#daemons[@]} == 0)) || kill "${daemons[@]}" 2>/dev/null || true
	wait
	rm -rf "$work"
	exit "$status"
}
trap finish EXIT

# Each function talks to its own daemon.
a() { "$bin/verbsctl" -s 127.0.0.1:7480 "$@"; }
b() { "$bin/verbsctl" -s 127.0.0.1:7481 "$@"; }

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

# says REGEX COMMAND...: the command must succeed, with matching output
says() {
	local regex=$1 out
	shift
	out=$("$@" 2>&1) || fail "$*: $out"
	[[ $out =~ $regex ]] || fail "$*: no \"$regex\" in: $out"
}

# ends STATUS REGEX COMMAND...: the command must exit with that status, with matching output
ends() {
	local wanted=$1 regex=$2 out status=0
	shift 2
	out=$("$@" 2>&1) || status=$?
	((status == wanted)) || fail "$*: status $status: $out"
	[[ $out =~ $regex ]] || fail "$*: no \"$regex\" in: $out"
}

# await COMMAND...: repeat the command until it succeeds, for a limited time
await() {
	local end=$((SECONDS + 60))
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || fail "waited in vain for: $*"
		sleep 0.2
	done
}

has_request() { b ls --state requested --json | grep -q '"requested"'; }

"$bin/verbsd" --listen 127.0.0.1:7480 2>"$work/a.log" &
daemons+=("$!")
"$bin/verbsd" --listen 127.0.0.1:7481 2>"$work/b.log" &
daemons+=("$!")
await a status
await b status
says 'rxe0 +present +roce +1 +active' a devices

head -c 3000000 /dev/urandom >"$work/file"
says 'listener/1 \(front\): listening at 0\.0\.0\.0:7471' b listen 0.0.0.0:7471 --name front
says 'rkey +0x' b buf create target --size 3000000 --access remote_write,remote_read
says 'connection/1 \(to-b\): established' a connect "$LAB_ADDR:7471" --name to-b --recv-size 4096
says 'RTR -> RTS' a show to-b
says 'buffer/1 \(source\)' a buf create source --size 3000000
says '^3000000 bytes put' a buf put source "$work/file"
says '^transfer/1: write of 3000000 bytes done' \
	a write to-b --buffer source --remote 'http://127.0.0.1:7481#target'
b buf get target -o "$work/copy"
cmp "$work/file" "$work/copy" || fail "the bytes that arrived are others"
[[ $(a buf sum source | cut -d' ' -f1) == "$(b buf sum target | cut -d' ' -f1)" ]] || fail "checksums differ"

a buf put source - < <(head -c 3000000 /dev/zero) >/dev/null
says '^transfer/2: read of 3000000 bytes done' \
	a read to-b --buffer source --remote '127.0.0.1:7481#target'
a buf get source | cmp - "$work/file" || fail "the bytes that were read are others"
ends 1 "past the end of the peer's memory, which has 3000000 bytes" a write to-b --buffer source --length 3000001 \
	--remote '127.0.0.1:7481#target'

says 'send of 5 bytes done' a send to-b hello
says '^hello$' b recv 1 --count 1 --timeout 60s
head -c 4000 "$work/file" | b send 1 - >/dev/null
a recv to-b --raw --timeout 60s | cmp - <(head -c 4000 "$work/file") || fail "the message is another"
ends 3 'no message came' a recv to-b --timeout 200ms

says 'accept manual' b listeners set front --accept manual
says 'connection/2 \(m\): ' a connect "$LAB_ADDR:7471" --name m --no-wait
await has_request
ends 3 'and not yet established' a wait m --timeout 1ms
says 'established .*service echo' b accept 2 --service echo
says 'connection/2 \(m\): established' a wait m
says 'send of 2 bytes done' a send m hi
says '^hi$' a recv m --count 1 --timeout 60s
ends 1 'remote_access: .*cause +.*hint +.*explain +verbsctl explain 2' a write m --buffer source --length 16 \
	--remote-addr 0x1000 --remote-rkey 0x99
says ' m +failed .*remote_access' a ls --state open,ended
cause="cause +Nobody listens for connections at .* port 7999.*hint +Start the listener .*explain +verbsctl explain 3"
ends 1 "connection/3: rejected: .*$cause" a connect "$LAB_ADDR:7999"
ends 1 "connection/3: rejected: .*$cause" a wait 3

says 'connection/1 \(to-b\): closed \(local_close\)' a close to-b
says 'gone' a rm to-b
says 'gone' a buf rm source
says 'connection_ended' a events --object connection/1 --type connection_ended
says '"transferred_write_bytes": *3000000' curl -fsS http://127.0.0.1:7480/v1/stats

VBD_CTL=$bin/verbsctl node "$root/tests/ctl/live.mjs" "$bin/verbsd" >"$work/live" 2>&1 || {
	cat "$work/live" >&2
	fail "live.mjs: what goes on for ever does not"
}

kill "${daemons[@]}"
for pid in "${daemons[@]}"; do
	wait "$pid" || fail "a daemon ended with status $?"
done
daemons=()
echo "all of it held"
