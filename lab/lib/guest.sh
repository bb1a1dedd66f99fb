# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Runs CMD in one QEMU guest, or CMD and CMD2 in two. Sourced by lab/run, which sets opt_* and CMD.
#
# Communication: the second serial port of each guest is QEMU's stdout and carries single lines
# ("ready", "status 0"). A pump for each guest adds the guest's role and writes the lines to one
# FIFO, from which lab/run reads events. CMD's output goes to files in the run folder, which is
# shared over 9p, and lab/run follows them. When CMD has ended, the guest is killed: a shutdown would
# take seconds, and the guest has no data worth keeping.

# Addresses: one /24 for each of rxe, its VLAN, siw and the second rxe; a is the guest that runs CMD, b
# the peer.
readonly LAB_RDMA_NET=10.76.0 LAB_SIW_NET=10.77.0 LAB_SECOND_NET=10.78.0 LAB_RDMA_NET6=fd00:76:
readonly LAB_VLAN=7 LAB_VLAN_NET=10.76.7 LAB_VLAN_NET6=fd00:76:7:
readonly LAB_MAC=52:54:00:4c LAB_DISK=/lab-disk

declare -A qemu_pid=() guest_ready=() guest_gone=()
declare -a helper_pids=()
run_dir='' events='' cmd_status='' peer_cut='' peer_again='' started_us=0 ready_us=''

host_number() { case $1 in a) echo 1 ;; b) echo 2 ;; esac }
mac() { printf '%s:%02x:0%d' "$LAB_MAC" "$1" "$(host_number "$2")"; }
other() { case $1 in a) echo b ;; b) echo a ;; esac }
roles() { echo a ${opt_peer:+b}; }
guest_name() { case $1 in a) echo 'the guest' ;; b) echo 'the second guest' ;; esac }
rdma_addr() { echo "$LAB_RDMA_NET.$(host_number "$1")"; }
siw_addr() { echo "$LAB_SIW_NET.$(host_number "$1")"; }
second_addr() { echo "$LAB_SECOND_NET.$(host_number "$1")"; }
vlan_addr() { echo "$LAB_VLAN_NET.$(host_number "$1")"; }
has_disk() { [[ $1 == b && -n $opt_peer_disk ]]; }
vlan_addr6() { echo "$LAB_VLAN_NET6:$(host_number "$1")"; }

# --- the guest's job ------------------------------------------------------------------------------

job_variable() {
	printf '%s=' "$1"
	shell_quote "$2"
	echo
}

job_environment() {
	local role=$1
	printf '%s\n' "PATH=$PATH" "HOME=$HOME" LAB=1 LAB_MODE=guest LAB_DEV=rxe0 \
		"LAB_ADDR=$(rdma_addr "$role")" "LAB_ADDR6=$LAB_RDMA_NET6:$(host_number "$role")" \
		LAB_SHARED=/run/lab/shared
	[[ -z $opt_results ]] || echo "LAB_RESULTS=$opt_results"
	! has_disk "$role" || echo "LAB_DISK=$LAB_DISK"
	[[ -z $opt_siw ]] || echo "LAB_SIW_DEV=siw0"
	[[ -z $opt_second ]] || echo "LAB_SECOND_DEV=rxe1"
	job_addresses LAB "$role"
	if [[ -n $opt_peer ]]; then
		echo "LAB_PEER_ADDR=$(rdma_addr "$(other "$role")")"
		job_addresses LAB_PEER "$(other "$role")"
	fi
}

# job_addresses PREFIX ROLE: addresses of the requested devices.
job_addresses() {
	[[ -z $opt_siw ]] || echo "$1_SIW_ADDR=$(siw_addr "$2")"
	[[ -z $opt_second ]] || echo "$1_SECOND_ADDR=$(second_addr "$2")"
	[[ -z $opt_vlan ]] || printf '%s\n' "$1_VLAN_ADDR=$(vlan_addr "$2")" "$1_VLAN_ADDR6=$(vlan_addr6 "$2")"
}

# Writes a function for the guest's shell that executes the command, with exactly the lab's
# environment.
job_function() {
	local role=$1 word
	shift
	local environment
	mapfile -t environment < <(job_environment "$role")
	printf 'job_exec() {\n\texec env -i'
	for word in "${environment[@]}"; do
		printf ' '
		shell_quote "$word"
	done
	# shellcheck disable=SC2016 # the guest's shell expands it
	printf ' "LAB_SLOW=$(cat /run/lab/go)"'
	for word in "${opt_env[@]}" "$@"; do
		printf ' '
		shell_quote "$word"
	done
	printf '\n}\n'
}

job_hosts() {
	printf '%s lab\n' "$(rdma_addr a)"
	[[ -z $opt_peer ]] || printf '%s lab-b\n' "$(rdma_addr b)"
}

# The MACs of the guest's network cards; other interfaces are dummies.
cards() {
	[[ -z $opt_peer ]] || printf '%s ' "$(mac 1 "$1")"
	[[ -z $opt_peer || -z $opt_siw ]] || printf '%s ' "$(mac 2 "$1")"
	[[ -z $opt_peer || -z $opt_second ]] || printf '%s ' "$(mac 4 "$1")"
	[[ $1 != a || ${#opt_forward[@]} -eq 0 ]] || printf '%s ' "$(mac 3 a)"
}

write_job() {
	local role=$1 hostname=lab siw='' second='' forward='' disk=''
	[[ $role == a ]] || hostname=lab-b
	[[ -z $opt_siw ]] || siw=$(siw_addr "$role")
	[[ -z $opt_second ]] || second=$(second_addr "$role")
	[[ $role != a ]] || forward=${guest_ports[*]}
	! has_disk "$role" || disk=$LAB_DISK
	mkdir "$run_dir/$role"
	{
		job_variable job_hostname "$hostname"
		job_variable job_hosts "$(job_hosts)"
		job_variable job_modules "$LAB_CACHE/kernel/lib/modules"
		job_variable job_cwd "$PWD"
		job_variable job_results "$opt_results"
		job_variable job_addr "$(rdma_addr "$role")"
		job_variable job_addr6 "$LAB_RDMA_NET6:$(host_number "$role")"
		job_variable job_rdma_mac "$(mac 1 "$role")"
		job_variable job_cards "$(cards "$role")"
		job_variable job_siw_addr "$siw"
		job_variable job_siw_mac "$(mac 2 "$role")"
		job_variable job_second_addr "$second"
		job_variable job_second_mac "$(mac 4 "$role")"
		job_variable job_vlan "${opt_vlan:+$LAB_VLAN}"
		job_variable job_vlan_addr "$(vlan_addr "$role")"
		job_variable job_vlan_addr6 "$(vlan_addr6 "$role")"
		job_variable job_systemd "$opt_systemd"
		job_variable job_forward "$forward"
		job_variable job_forward_mac "$(mac 3 "$role")"
		job_variable job_disk "$disk"
		job_function "$@"
	} >"$run_dir/$role/job"
}

# --- QEMU ----------------------------------------------------------------------------------------

# A comma ends the value of a QEMU option, unless doubled.
qemu_path() { printf '%s' "${1//,/,,}"; }

share() {
	local tag=$1 path=$2 more=${3:-}
	qemu_args+=(-fsdev "local,id=$tag,path=$(qemu_path "$path"),security_model=none$more"
		-device "virtio-9p-pci,fsdev=$tag,mount_tag=$tag")
}

# wire NAME NUMBER ROLE: a cable between the two guests: a Unix socket on which a listens.
wire() {
	local server=off
	[[ $3 == b ]] || server=on
	qemu_args+=(-netdev "stream,id=$1,server=$server,addr.type=unix,addr.path=$run_dir/wire-$1"
		-device "virtio-net-pci,netdev=$1,mac=$(mac "$2" "$3"),romfile=")
}

disk_drive() {
	qemu_args+=(-drive "file=$(qemu_path "$run_dir/$1/disk"),format=raw,if=virtio")
}

# restrict=on: the guest reaches neither the host nor any network; forwarded ports still work.
forward_card() {
	local forward rules=''
	for forward in "${opt_forward[@]}"; do
		rules+=",hostfwd=tcp:127.0.0.1:${forward%:*}-10.0.2.15:${forward#*:}"
	done
	qemu_args+=(-netdev "user,id=forward,restrict=on$rules"
		-device "virtio-net-pci,netdev=forward,mac=$(mac 3 a),romfile=")
}

# The kernel's warnings go to the console, where lab/run finds them. nowatchdog: a busy host can
# stop an emulated processor for many seconds, which the guest would report as a soft lockup.
qemu_machine() {
	local append="console=ttyS0 loglevel=5 panic=-1 nowatchdog mitigations=off"
	append+=" no_timer_check tsc=reliable cryptomgr.notests lab.role=$1"
	qemu_args=(-nodefaults -no-user-config -display none -no-reboot
		-m "$opt_memory" "${accel_args[@]}"
		-kernel "$LAB_CACHE/kernel/vmlinux" -initrd "$LAB_CACHE/initramfs" -append "$append"
		-chardev "file,id=console,path=$(qemu_path "$run_dir/$1/console"),append=on"
		-serial chardev:console -serial stdio)
}

qemu_command() {
	local role=$1
	qemu_machine "$role"
	share host / ,readonly=on,multidevs=remap
	share run "$run_dir"
	[[ -z $opt_results ]] || share results "$opt_results" ,multidevs=remap
	[[ -z $opt_peer ]] || wire rdma 1 "$role"
	[[ -z $opt_peer || -z $opt_siw ]] || wire siw 2 "$role"
	[[ -z $opt_peer || -z $opt_second ]] || wire second 4 "$role"
	[[ $role != a || ${#opt_forward[@]} -eq 0 ]] || forward_card
	! has_disk "$role" || disk_drive "$role"
}

# Adds the role to a guest's lines, and reports the end of its QEMU.
pump() {
	local line
	while read -r line; do
		printf '%s %s\n' "$1" "${line%$'\r'}"
	done
	printf '%s gone\n' "$1"
}

# Each boot has files of its own for the output, since the followers of the boot before may still read theirs.
#
# pdeathsig: no guest outlives lab/run, even after SIGKILL.
start_guest() {
	local role=$1 line
	local -a qemu_args
	qemu_command "$role"
	rm -f "$run_dir/$role/stdout" "$run_dir/$role/stderr"
	: >"$run_dir/$role/stdout"
	: >"$run_dir/$role/stderr"
	exec {line}< <(exec setpriv --pdeathsig KILL -- qemu-system-x86_64 "${qemu_args[@]}" \
		</dev/null 2>"$run_dir/$role/qemu")
	qemu_pid[$role]=$!
	pump "$role" <&"$line" >&"$events" &
	helper_pids+=($!)
	exec {line}<&-
}

await_wires() {
	local name
	for name in rdma ${opt_siw:+siw} ${opt_second:+second}; do
		until [[ -S $run_dir/wire-$name ]]; do
			kill -0 "${qemu_pid[a]}" 2>/dev/null || return 0
			sleep 0.02
		done
	done
}

# --- output --------------------------------------------------------------------------------------

# follow ROLE FILE: copies the guest's output as it comes, until QEMU has ended and all is copied.
# The reader of our output may leave earlier, as in lab/run … | head -1.
follow() {
	local pid status=0
	tail -c +1 -f -s 0.1 --pid="${qemu_pid[$1]}" "$run_dir/$1/$2" 2>>"$run_dir/tail" &
	pid=$!
	trap 'kill "$pid"; wait "$pid"; exit' TERM
	wait "$pid" || status=$?
	((status == 0)) || echo "$1 unread" >&"$events"
}

follow_output() {
	follow a stdout &
	helper_pids+=($!)
	follow a stderr >&2 &
	helper_pids+=($!)
}

follow_peer() {
	local stream
	for stream in stdout stderr; do
		rm -f "$run_dir/peer-$stream"
		mkfifo "$run_dir/peer-$stream"
		follow b "$stream" >"$run_dir/peer-$stream" &
		helper_pids+=($!)
		sed -u 's/^/peer: /' <"$run_dir/peer-$stream" >&2 &
		helper_pids+=($!)
	done
}

last_console_lines() {
	[[ -s $run_dir/$1/console ]] || return 0
	say "last lines of the console of $(guest_name "$1"):"
	tail -n 25 "$run_dir/$1/console" | tr -d '\r' | sed 's/^/lab:   /' >&2
}

# Reports complaints of either guest's kernel.
report_kernel_complaints() {
	local role prefix pattern='WARNING: |BUG: |Oops|general protection fault|Kernel panic|'
	pattern+='blocked for more than|rcu.*(stall|detected)|refcount_t|KASAN'
	for role in $(roles); do
		prefix='lab: guest kernel: '
		[[ $role == a ]] || prefix+='peer: '
		[[ -e $run_dir/$role/console ]] || continue
		LC_ALL=C grep -aE "$pattern" "$run_dir/$role/console" | tr -d '\r' | sed "s/^/$prefix/" >&2 || true
	done
}

# --- the life of a run ---------------------------------------------------------------------------

end_guest() {
	[[ -n ${qemu_pid[$1]:-} && -z ${guest_gone[$1]:-} ]] || return 0
	kill -KILL "${qemu_pid[$1]}" 2>/dev/null || true
}

# Ends all processes that lab/run started, on every exit.
clean_up() {
	local role
	for role in a b; do end_guest "$role"; done
	((${#helper_pids[@]} == 0)) || kill "${helper_pids[@]}" 2>/dev/null || true
	wait
	[[ -z $run_dir ]] || rm -rf "$run_dir"
}

cut_peer() {
	peer_cut=1
	say "switching the second guest off"
	end_guest b
}

# Starts the second guest as it was started first, with the disk as the power cut has left it. The first one's QEMU
# listens for it on the cables again.
peer_on() {
	peer_cut='' peer_again=1
	unset 'guest_ready[b]' 'guest_gone[b]'
	rm -f "$run_dir/shared/peer-is-off" "$run_dir/shared/peer-is-on" "$run_dir/shared/peer-status"
	say "switching the second guest on"
	start_guest b
	follow_peer
}

all_ready() {
	local role
	for role in $(roles); do [[ -n ${guest_ready[$role]:-} ]] || return 1; done
}

guest_is_ready() {
	guest_ready[$1]=1
	[[ -z $peer_again ]] || : >"$run_dir/shared/peer-is-on"
	all_ready || return 0
	ready_us=$(now_us)
	slowness >"$run_dir/go.new"
	mv "$run_dir/go.new" "$run_dir/go"
}

# How many times longer the boot took than on a quiet host: what a command in a guest whose clock does not count
# instructions multiplies its patience by.
slowness() {
	local quiet_us=5000000 factor
	[[ -z $opt_peer ]] || quiet_us=10000000
	factor=$(((ready_us - started_us + quiet_us - 1) / quiet_us))
	[[ ${accel_args[*]} != *icount* ]] || factor=1
	echo $((factor > 1 ? factor : 1))
}

guest_has_gone() {
	guest_gone[$1]=1
	if [[ $1 == b && -n $peer_cut ]]; then
		: >"$run_dir/shared/peer-is-off"
	else
		guest_has_died "$1"
		[[ $1 == b && -n $ready_us ]] || cmd_status=$LAB_STATUS_BROKEN
	fi
}

# Either the kernel failed, or QEMU did: a port in use, no memory.
guest_has_died() {
	local name
	name=$(guest_name "$1")
	if grep -qa 'Kernel panic' "$run_dir/$1/console" 2>/dev/null; then
		say "the kernel of $name panicked before CMD had ended"
	else
		say "$name ended before CMD did; QEMU says:"
		sed 's/^/lab:   /' "$run_dir/$1/qemu" >&2
	fi
	last_console_lines "$1"
	keep_console_of_failure "$1"
}

# With --results the folder is kept anyway.
keep_console_of_failure() {
	[[ -z $opt_results && -s $run_dir/$1/console ]] || return 0
	local kept
	kept=$(mktemp "${TMPDIR:-/tmp}/lab-console.XXXXXX")
	cp "$run_dir/$1/console" "$kept"
	say "the whole console is in $kept"
}

peer_command_ended() {
	printf '%s\n' "$1" >"$run_dir/shared/peer-status"
	say "peer: ended with status $1"
}

handle_event() {
	local role=$1 word=$2 rest=$3
	case $role.$word in
	?.ready) guest_is_ready "$role" ;;
	a.status) cmd_status=$rest ;;
	b.status) peer_command_ended "$rest" ;;
	a.peer-off) cut_peer ;;
	a.peer-on) peer_on ;;
	?.note) say "$rest" ;;
	a.unread) cmd_status=141 ;; # 128 + SIGPIPE, CMD's status in a pipe
	?.gone) guest_has_gone "$role" ;;
	?.fail)
		say "guest $role: $rest"
		last_console_lines "$role"
		cmd_status=$LAB_STATUS_BROKEN
		;;
	esac
}

deadline_reached() {
	cmd_status=$LAB_STATUS_DEADLINE
	if all_ready; then
		say "deadline of $opt_deadline s reached: CMD was still running and has been ended with its guest"
		return
	fi
	local role
	for role in $(roles); do
		[[ -z ${guest_ready[$role]:-} ]] || continue
		say "deadline of $opt_deadline s reached: $(guest_name "$role") had not finished booting"
		last_console_lines "$role"
		keep_console_of_failure "$role"
	done
}

# Bash parses the text of $(…) at each expansion, and a trap that runs at that moment fails with a syntax error: no
# $(…) in the loop where lab/run spends its time.
watch_guests() {
	local deadline_us=$((started_us + opt_deadline * 1000000)) left patience role word rest
	while [[ -z $cmd_status ]]; do
		left=$((deadline_us - ${EPOCHREALTIME/./}))
		printf -v patience '%d.%06d' $((left / 1000000)) $((left % 1000000))
		if ((left <= 0)); then
			deadline_reached
		elif read -r -t "$patience" -u "$events" role word rest; then
			handle_event "$role" "$word" "$rest"
		fi
	done
}

# The followers end after QEMU has; only then all output is written.
finish() {
	local role
	for role in $(roles); do end_guest "$role"; done
	wait "${helper_pids[@]}" || true
	helper_pids=()
	report_kernel_complaints
	keep_consoles
}

keep_consoles() {
	[[ -n $opt_results ]] || return 0
	local role
	for role in $(roles); do
		[[ ! -e $run_dir/$role/console ]] || cp "$run_dir/$role/console" "$opt_results/console-$role.log"
	done
}

report_time() {
	[[ -n $ready_us ]] || return 0
	say "time: active device after $(seconds_between "$started_us" "$ready_us") s," \
		"whole run $(seconds_between "$started_us" "$(now_us)") s"
}

make_disk() {
	truncate -s "${opt_peer_disk}M" "$run_dir/b/disk"
	mke2fs -q -F -t ext4 "$run_dir/b/disk"
}

start_guests() {
	run_dir=$(mktemp -d "${TMPDIR:-/tmp}/lab.XXXXXX")
	mkfifo "$run_dir/events"
	exec {events}<>"$run_dir/events"
	mkdir -m 1777 "$run_dir/shared"
	cp "$LAB_ROOT/lab/guest/stage2" "$run_dir/"
	write_job a "${CMD[@]}"
	[[ -z $opt_peer ]] || write_job b sh -c "$opt_peer"
	[[ -z $opt_peer_disk ]] || make_disk
	started_us=$(now_us)
	start_guest a
	follow_output
	if [[ -n $opt_peer ]]; then
		await_wires
		start_guest b
		follow_peer
	fi
}

run_in_guest() {
	local -a accel_args guest_ports=("${opt_forward[@]#*:}")
	"$LAB_ROOT/lab/prepare" ${opt_siw:+--siw} || exit "$LAB_STATUS_BROKEN"
	choose_accelerator
	trap clean_up EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	start_guests
	watch_guests
	finish
	[[ -z $opt_time ]] || report_time
	exit "$cmd_status"
}
