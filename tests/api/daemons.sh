# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Starts and stops the daemons for the API cases. Sourced by the run-*.sh.

API_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PATIENCE=600                   # in tenths of a second; only what hangs reaches it
STATUS_SKIPPED=77              # ctest's status for a skipped test
declare -A daemon_pid=()
verbsd='' jansson_bytes='' work='' passed=0 failed=0 skipped=0

die() {
	echo "${0##*/}: $*" >&2
	exit 2
}

need_packages() {
	[[ -d $API_DIR/node_modules ]] && return
	echo "skipped: the npm packages are missing: run npm ci in $API_DIR"
	exit "$STATUS_SKIPPED"
}

# The folder of the run. Its removal, on every exit, also ends the daemons.
prepare_run() {
	verbsd=$(find_verbsd "$1")
	jansson_bytes=$(realpath "$1/tests/api/jansson_bytes") || die "no tests/api/jansson_bytes in $1"
	need_packages
	work=$(mktemp -d)
	chmod 0755 "$work"
	trap clean_up EXIT
}

find_verbsd() {
	local candidate
	for candidate in "$1/cmd/verbsd" "$1/cmd/verbsd/verbsd" "$1/verbsd"; do
		if [[ -f $candidate && -x $candidate ]]; then
			realpath "$candidate"
			return
		fi
	done
	die "no verbsd in $1"
}

clean_up() {
	local name
	for name in "${!daemon_pid[@]}"; do
		kill -KILL "${daemon_pid[$name]}" 2>/dev/null || true
	done
	rm -rf "$work"
}

# Prints as many free TCP ports, all different.
free_ports() {
	node -e '
		const net = require("node:net");
		const servers = Array.from({ length: process.argv[1] }, () => net.createServer().listen(0, "127.0.0.1"));
		Promise.all(servers.map((server) => new Promise((done) => server.on("listening", done)))).then(() => {
			console.log(servers.map((server) => server.address().port).join("\n"));
			servers.forEach((server) => server.close());
		});' "$1"
}

make_tokens() {
	local role
	for role in control read; do
		(umask 077 && node -e 'console.log(require("node:crypto").randomBytes(24).toString("hex"))' >"$work/$role")
	done
}

# start_daemon NAME PORT [ARG…]: runs verbsd, prefixed by the command in daemon_prefix if set.
daemon_prefix=() token_vars=()
start_daemon() {
	local name=$1 port=$2
	shift 2
	"${daemon_prefix[@]}" "$verbsd" --listen "127.0.0.1:$port" "$@" >"$work/$name.log" 2>&1 &
	daemon_pid[$name]=$!
	await_alive "$name" "$port"
}

await_alive() {
	local tries
	for ((tries = 0; tries < PATIENCE; tries++)); do
		if curl -fs -o /dev/null "http://127.0.0.1:$2/livez"; then
			return
		fi
		kill -0 "${daemon_pid[$1]}" 2>/dev/null || break
		sleep 0.1
	done
	tail -n 20 "$work/$1.log" >&2
	die "daemon $1 did not come up"
}

# The files of the export of daemon t; one has a name that is not UTF-8.
make_exported_files() {
	mkdir -p "$work/exported/llama"
	printf 'weights' >"$work/exported/llama/weights"
	printf 'x' >"$work/exported/caf"$'\xe9'
	: >"$work/exported/50%"
	ln -s /etc "$work/exported/link"
	chmod 0640 "$work/exported/50%"
	touch -d '2026-03-04T05:06:07Z' "$work/exported/50%"
}

# Daemon t of the cases: with tokens, a short event log, small limits, exports and fault_injection. Sets token_vars for
# run.mjs.
# shellcheck disable=SC2034 # used by those that source this
start_small_daemon() {
	make_tokens
	make_exported_files
	printf '%s\n' 'fault_injection: true' 'records:' '  events: 64' 'limits:' '  listeners: 2' \
		'exports:' "- {name: files, path: $work/exported, access: [read, write], secret_file: $work/control, max_bytes: 1G}" \
		"- {name: gone, path: $work/gone, allow: [192.0.2.0/24], umask: 027}" >"$work/t.yaml"
	start_daemon t "$1" --config "$work/t.yaml" --control-token-file "$work/control" \
		--read-token-file "$work/read"
	token_vars=(--var "TOKEN_URL=http://127.0.0.1:$1" --var "CONTROL_TOKEN=$(<"$work/control")"
		--var "READ_TOKEN=$(<"$work/read")")
}

# Counts a check of this script like a case.
check() {
	local name=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
		echo "ok   $name"
	else
		failed=$((failed + 1))
		echo "FAIL $name"
	fi
}

# Ends a daemon by SIGTERM; succeeds if it exits with 0.
stop_daemon() {
	local pid=${daemon_pid[$1]} tries status=0
	kill -TERM "$pid" 2>/dev/null
	for ((tries = 0; tries < PATIENCE; tries++)); do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null && echo "     daemon $1 did not stop in time"
	wait "$pid" || status=$?
	unset "daemon_pid[$1]"
	((status == 0)) && return
	echo "     daemon $1 ended with status $status; the end of its log:"
	tail -n 20 "$work/$1.log" | sed 's/^/     /'
	return 1
}

# stop_daemons NAME…
stop_daemons() {
	local name
	for name in "$@"; do
		check "daemon $name stops on SIGTERM with status 0" stop_daemon "$name"
	done
}

# Plays the cases, and keeps their counts for the last line.
play() {
	local last
	node "$API_DIR/run.mjs" --bodies "$work/bodies" "$@" | tee "$work/output" | sed '$d' || true
	last=$(tail -n 1 "$work/output")
	[[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]] || die "run.mjs ended early"
	passed=$((passed + BASH_REMATCH[1]))
	failed=$((failed + BASH_REMATCH[2]))
	skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
	check 'every answer has the bytes that jansson prints' "$jansson_bytes" <"$work/bodies"
}

# Prints the logs of a failed run, then the counts as the last line. Returns the status of the script.
summary() {
	if ((failed > 0)) && [[ -n ${API_LOGS:-} ]]; then
		mkdir -p "$API_LOGS"
		cp "$work"/*.log "$API_LOGS"
	fi
	echo "$passed passed, $failed failed$( ((skipped == 0)) || echo ", $skipped skipped")"
	((failed == 0 && passed > 0))
}
