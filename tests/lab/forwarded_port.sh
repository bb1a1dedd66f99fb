#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The host reaches a server that listens on loopback in the guest: many short requests, some of them
# concurrent, a stream that stays open, a large upload. Results come out while the guest runs.

# shellcheck source=tests/lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs_guest
command -v curl >/dev/null || skip "needs curl"

readonly REQUESTS=100 UPLOAD_MB=16
port=$((20000 + RANDOM % 10000))
url=http://127.0.0.1:$port
results=$WORK/results

# One script answers the upload with its checksum. The other one sends its second event only after
# the test has received the first.
mkdir -p "$WORK/www/cgi-bin"
cat >"$WORK/www/cgi-bin/sum" <<'EOF'
#!/bin/sh
printf 'Content-Type: text/plain\r\n\r\n'
head -c "${CONTENT_LENGTH:-0}" | sha256sum
EOF
cat >"$WORK/www/cgi-bin/stream" <<'EOF'
#!/bin/sh
printf 'Content-Type: text/event-stream\r\n\r\ndata: first\n\n'
until [ -e "$LAB_RESULTS/first-seen" ]; do sleep 0.1; done
printf 'data: second\n\n'
EOF
chmod +x "$WORK"/www/cgi-bin/*
echo hello >"$WORK/www/hello"
head -c "${UPLOAD_MB}M" /dev/urandom >"$WORK/upload"

cat >"$WORK/server" <<'EOF'
busybox httpd -p 127.0.0.1:8080 -h www
until [ -e "$LAB_RESULTS/stop" ]; do sleep 0.1; done
EOF

cd "$WORK"
"$RUN" --guest --deadline 900 --results "$results" --forward "$port:8080" -- sh server \
	>"$WORK/serve.out" 2>"$WORK/serve.err" &
guest=$!
trap 'kill "$guest" 2>/dev/null || true; wait; rm -rf "$WORK"' EXIT
get() { curl -sS --fail --max-time 60 "$@"; }

await 120 get "$url/hello"
# One after the other, each on its own connection, which busybox httpd closes.
get --max-time 60 "$url/hello?[1-$REQUESTS]" >"$WORK/in-turn" || fail "a request failed in turn"
[[ $(grep -cx hello "$WORK/in-turn") == "$REQUESTS" ]] || fail "an answer is missing in turn"
# No more at once than the backlog of busybox httpd, which is 9.
seq 60 | xargs -P 6 -I{} curl -sS --fail --max-time 60 "$url/hello?{}" >"$WORK/at-once" ||
	fail "a request failed among 6 at once"
[[ $(grep -cx hello "$WORK/at-once") == 60 ]] || fail "an answer is missing among 6 at once"

get -N "$url/cgi-bin/stream" >"$WORK/stream" &
stream=$!
await 60 grep -q first "$WORK/stream"
touch "$results/first-seen"
wait "$stream" || fail "the stream broke"
grep -q second "$WORK/stream" || fail "the stream ended early"

sum=$(get --max-time 60 --data-binary "@$WORK/upload" "$url/cgi-bin/sum")
[[ $sum == "$(sha256sum <"$WORK/upload")" ]] || fail "the upload arrived changed: $sum"

touch "$results/stop"
status=0
wait "$guest" || status=$?
expect_status serve 0
[[ -s $results/console-a.log ]] || fail "no console log among the results"
