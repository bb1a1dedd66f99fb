# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Shared by the examples: requests to a verbsd, error messages, waiting for an object, and cleaning up. To be sourced.
#
# Command substitutions use backquotes if a trap may run in between: bash 5.2 parses $(…) and <(…) again at each
# expansion, and takes a trap that runs then for a part of them ("unexpected EOF", status 2).
# shellcheck disable=SC2006

PROGRAM=${0##*/}
# For one request. The daemon delays an answer by 60 s at most.
WAIT_S=10 REQUEST_S=30
# Exit statuses besides 0.
FAILED=1 USAGE=2 TIMED_OUT=3 MISSED=4

shopt -s lastpipe # `members` needs it
declare -A url token server
quiet=''
deadline=$((SECONDS + 60)) # in seconds of bash; see set_timeout
status='' answer='' curl_said=''
m=() operands=()

say() { [[ -n $quiet ]] || printf '%s: %s\n' "$PROGRAM" "$*" >&2; }

# die STATUS TEXT…
die() {
	local exit_status=$1
	shift
	printf '%s: %s\n' "$PROGRAM" "$*" >&2
	exit "$exit_status"
}

usage_error() { die "$USAGE" "$* (see $PROGRAM --help)"; }

# undo_with FUNCTION: calls it once at the end of the script. After a signal the status is 128 plus its number; a signal
# during FUNCTION does not interrupt it.
undo_with() {
	undo=$1
	trap 'end $?' EXIT
	trap 'end 129' HUP
	trap 'end 130' INT
	trap 'end 143' TERM
}

end() {
	trap '' HUP INT TERM
	trap - EXIT
	set_timeout 10
	"$undo" || true
	exit "$1"
}

need_programs() {
	local program
	for program; do
		command -v "$program" >/dev/null || die "$FAILED" "there is no $program: install it"
	done
}

# parse_options NAMES ARGUMENT…: sets the variable of each option in NAMES to the option's value (1 for NAME=), and
# `operands` to the other arguments. --help and --quiet are always options.
parse_options() {
	local names=" $1 quiet= " name
	shift
	operands=()
	while (($#)); do
		name=${1#--}
		if [[ $1 == --help ]]; then
			usage && exit 0
		elif [[ $1 == --[a-z]* && $names == *" $name= "* ]]; then
			printf -v "$name" 1
		elif [[ $1 == --[a-z]* && $names == *" $name "* ]]; then
			(($# > 1)) || usage_error "$1 wants a value"
			printf -v "$name" %s "$2"
			shift
		elif [[ $1 == -* ]]; then
			usage_error "unknown option $1"
		else
			operands+=("$1")
		fi
		shift
	done
}

# set_timeout SECONDS: 0 for no limit.
set_timeout() {
	[[ $1 =~ ^[0-9]{1,7}$ ]] || usage_error "a number of seconds is wanted, not '$1'"
	deadline=$((SECONDS + 10#$1))
	((10#$1 > 0)) || deadline=$((SECONDS + 1000000000))
}

is_late() { ((SECONDS >= deadline)); }
seconds_left() { echo $((deadline > SECONDS ? deadline - SECONDS : 0)); }

# set_daemon NAME URL [TOKEN_VARIABLE]: defines the daemon NAME for ask. The token is in the variable, or in the file
# named by TOKEN_VARIABLE_FILE.
set_daemon() {
	local variable=${3:-VERBSD_TOKEN} file
	[[ $2 =~ ^(https?://[^/?#]+/?|unix:/[^?#]+)$ ]] ||
		usage_error "the URL of a verbsd is wanted, as in http://127.0.0.1:7480 or unix:/run/verbsd/verbsd.sock, not '$2'"
	url[$1]=${2%/}
	token[$1]=${!variable:-}
	file=${variable}_FILE
	if [[ -z ${token[$1]} && -n ${!file:-} ]]; then
		IFS= read -r "token[$1]" <"${!file}" || [[ -n ${token[$1]} ]] || die "$FAILED" "there is no token in ${!file}"
	fi
}

# need_ref WHAT REF: REF must be an id or a name, which needs no encoding in a path.
need_ref() {
	[[ $2 =~ ^([0-9]{1,19}|[A-Za-z_][A-Za-z0-9._-]{0,62})$ ]] || usage_error "$1 wants an id or a name, not '$2'"
}

# The token is passed by a descriptor, because every user of the host can see the arguments of a
# program.
send() {
	local daemon=$1 seconds=$2
	shift 2
	[[ ${url[$daemon]} != unix:* ]] || set -- --unix-socket "${url[$daemon]#unix:}" "${@/#"${url[$daemon]}"/http://localhost}"
	[[ -z ${VERBSD_CA:-} ]] || set -- --cacert "$VERBSD_CA" "$@"
	[[ -z ${VERBSD_CERT:-} ]] || set -- --cert "$VERBSD_CERT" --key "${VERBSD_KEY:-$VERBSD_CERT}" "$@"
	if [[ -n ${token[$daemon]} ]]; then
		curl -q -sS --noproxy '*' --max-time "$seconds" -w '\n%{http_code} %header{verbsd-server} %header{retry-after}' \
			-H @<(printf 'Authorization: Bearer %s\n' "${token[$daemon]}") "$@" 2>&1
	else
		curl -q -sS --noproxy '*' --max-time "$seconds" -w '\n%{http_code} %header{verbsd-server} %header{retry-after}' "$@" 2>&1
	fi
}

# Worth another try: the daemon is busy or not ready, or still executes the same request.
may_pass() {
	case $status in
	429 | 503) return 0 ;;
	409) [[ `jq -r '.code? // ""' <<<"$answer" 2>/dev/null` == idempotency_conflict ]] ;;
	*) return 1 ;;
	esac
}

# ask METHOD DAEMON PATH [JSON]: sets $status to the HTTP status ('' without an answer) and $answer to the body. Returns
# 0 for a status of 2xx, and for the DELETE of an object that is gone. Repeats a request without an answer, or with a
# temporary error, until the deadline; Retry-After says how long it waits. A POST carries an Idempotency-Key, so that it
# is executed once however often it is sent. A DELETE is for the run of verbsd that gave the id: after a restart the
# object is gone, and the id may be another one's.
ask() {
	local method=$1 daemon=$2 path=$3 json=${4:-} said pause=0.1 options after told=''
	options=(-X "$method")
	# A GET that waits says so in its query; any other answers at once.
	[[ $method == GET ]] || options+=(-H "Prefer: wait=$WAIT_S")
	[[ $method != DELETE || -z ${server[$daemon]:-} ]] || options+=(-H "Verbsd-If-Server: ${server[$daemon]}")
	[[ $method != POST ]] || options+=(-H "Idempotency-Key: $PROGRAM-$$-$RANDOM$RANDOM-${EPOCHREALTIME/[.,]/}")
	[[ -z $json ]] || options+=(-H 'Content-Type: application/json' -d "$json")
	while :; do
		status='' answer='' curl_said='' after=''
		if said=`send "$daemon" "$REQUEST_S" "${options[@]}" "${url[$daemon]}$path"`; then
			after=${said##*$'\n'} answer=${said%$'\n'*}
			status=${after%% *} after=${after#* }
			[[ -n ${server[$daemon]:-} || ! ${after%% *} =~ ^[0-9a-f]+$ ]] || server[$daemon]=${after%% *}
			after=${after#* }
			[[ $status != 2?? && ! ($method == DELETE && $status == 4@(04|12)) ]] || return 0
			may_pass || return 1
		else
			curl_said=${said%%$'\n'*}
		fi
		! is_late || return 1
		[[ -n $told ]] || say "${url[$daemon]}: `problem`; trying again"
		told=1
		[[ ! $after =~ ^[1-9][0-9]*$ ]] || pause=$after
		sleep "$pause"
		case $pause in
		0.1) pause=0.5 ;;
		*) pause=1 ;;
		esac
	done
}

# The error in the last answer.
problem() {
	if [[ -z $status ]]; then
		printf '%s' "$curl_said"
	else
		jq -er '[.title, .detail, .hint] | map(select(. != null and . != "")) | join(". ")' <<<"$answer" 2>/dev/null ||
			printf 'status %s' "$status"
	fi
}

# must WHAT METHOD DAEMON PATH [JSON]: asks; on an error ends the script with a message.
must() {
	local what=$1
	shift
	ask "$@" || die "$FAILED" "can't $what at ${url[$2]}: `problem`"
}

# member FILTER: one value of the last answer, by jq
member() { jq -r "$1" <<<"$answer"; }

# members FILTER: sets the array `m` to the values of the last answer, by jq
members() { member "$1" | mapfile -t m || die "$FAILED" "can't make sense of the answer: ${answer:0:200}"; }

# create VARIABLE DAEMON KIND NAME MEMBERS: creates the object NAME, and sets VARIABLE to NAME for the cleanup: before the
# request, because the daemon may create the object even if its answer is lost. On an error ends the script.
create() {
	printf -v "$1" %s "$4"
	! ask POST "$2" "/v1/$3" "{\"name\": \"$4\", $5}" || return 0
	[[ -z $status ]] || printf -v "$1" %s ''
	die "$FAILED" "can't create $3/$4 at ${url[$2]}: `problem`"
}

# take_away DAEMON KIND NAME: deletes an object, if there is a NAME. A failure is only reported.
take_away() {
	[[ -z $3 ]] || ask DELETE "$1" "/v1/$2/$3" || say "$2/$3 stays: `problem`"
}

# await DAEMON PATH STATE BUSY: waits while the object of $answer is in one of the states BUSY ('queued|running'), by a
# request that answers when it is in STATE or can't get there any more. Ends the script if it is not in STATE then.
await() {
	local left state
	while state=`member .state` && [[ $state =~ ^($4)$ ]]; do
		left=`seconds_left`
		((left > 0)) || die "$TIMED_OUT" "$2 at ${url[$1]} is $state and takes too long"
		must "wait for $2" GET "$1" "$2?until=$3&wait_ms=$((left < WAIT_S ? left * 1000 : WAIT_S * 1000))"
	done
	[[ $state != "$3" ]] || return 0
	[[ $state != timed_out ]] || die "$TIMED_OUT" "$2 at ${url[$1]} took too long"
	die "$FAILED" "$2 at ${url[$1]} is $state: `member '[.error.detail?, .error.hint?] | map(strings) | join(". ")'`"
}
