# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Runs CMD on this machine, if it has an RDMA device or its kernel can make one. Sourced by lab/run,
# which sets opt_* and CMD. CMD has the same variables as in a guest, and ends for the same reasons:
# deadline, signals; its processes are ended with it.

readonly LAB_NATIVE_NET=10.76.0 LAB_NATIVE_SIW_NET=10.77.0

# devices_of KIND: the machine's RDMA devices: siw, or all others.
devices_of() {
	local path name
	for path in /sys/class/infiniband/*; do
		name=${path##*/}
		[[ -e $path ]] || continue
		case $1.$name in
		siw.siw*) echo "$name" ;;
		siw.* | rdma.siw*) ;;
		*) echo "$name" ;;
		esac
	done
}

# The first device that is up, else the first one: CMD will report what is wrong with it.
first_device() {
	local name
	for name in $(devices_of "$1"); do
		if grep -q ACTIVE "/sys/class/infiniband/$name/ports/1/state"; then
			echo "$name"
			return
		fi
	done
	devices_of "$1" | head -n 1
}

# The GIDs of a RoCE or iWARP port name its interface. An IPoIB interface belongs to the same
# hardware as its InfiniBand port.
interface_of() {
	local device=/sys/class/infiniband/$1 path
	if cat "$device/ports/1/gid_attrs/ndevs/0" 2>/dev/null; then return; fi
	for path in "$device"/device/net/*; do
		[[ ! -e $path ]] || echo "${path##*/}"
	done | head -n 1
}

# address_of DEVICE 4|6: the first global address of the device's interface.
address_of() {
	local interface
	interface=$(interface_of "$1")
	[[ -z $interface ]] || ip -o "-$2" addr show dev "$interface" scope global 2>/dev/null |
		awk '{ sub("/.*", "", $4); print $4; exit }'
}

# make_device TYPE MODULE NAME INTERFACE ADDRESS: a software device on a dummy interface, or nothing.
make_device() {
	local type=$1 module=$2 name=$3 interface=$4 address=$5
	((EUID == 0)) || return 1
	modprobe -qa crc32_generic ib_uverbs dummy "$module" rdma_ucm || return 1
	ip link add "$interface" type dummy || return 1
	if ip addr add "$address/24" dev "$interface" && ip link set "$interface" up &&
		rdma link add "$name" type "$type" netdev "$interface"; then
		return
	fi
	ip link del "$interface"
	return 1
}

# ensure_device KIND TYPE MODULE NAME INTERFACE ADDRESS: without error messages, because a guest is
# used if it fails.
ensure_device() {
	[[ -z $(devices_of "$1") ]] || return 0
	make_device "${@:2}" 2>/dev/null || return 1
	say "made the device $4 on $5; 'ip link del $5' removes it"
}

native_is_possible() {
	ensure_device rdma rxe rdma_rxe rxe0 labrdma0 "$LAB_NATIVE_NET.1" || return 1
	[[ -z $opt_siw ]] || ensure_device siw siw siw siw0 labsiw0 "$LAB_NATIVE_SIW_NET.1"
}

native_environment() {
	local device siw
	device=$(first_device rdma)
	printf '%s\n' "PATH=$PATH" "HOME=$HOME" LAB=1 LAB_MODE=native "LAB_DEV=$device" \
		"LAB_ADDR=$(address_of "$device" 4)" "LAB_ADDR6=$(address_of "$device" 6)" \
		"LAB_SHARED=$run_dir"
	[[ -z $opt_results ]] || echo "LAB_RESULTS=$opt_results"
	if [[ -n $opt_siw ]]; then
		siw=$(first_device siw)
		printf '%s\n' "LAB_SIW_DEV=$siw" "LAB_SIW_ADDR=$(address_of "$siw" 4)"
	fi
}

# CMD runs on this machine, so a port is forwarded only if the two numbers differ.
relay_ports() {
	local forward host guest
	for forward in "${opt_forward[@]}"; do
		host=${forward%:*} guest=${forward#*:}
		[[ $host != "$guest" ]] || continue
		have socat || die "natively, --forward $forward needs socat; or use one number for both ports"
		socat "TCP-LISTEN:$host,bind=127.0.0.1,fork,reuseaddr" "TCP:127.0.0.1:$guest" &
		helper_pids+=($!)
	done
}

# timeout(1) puts itself and CMD into a process group of their own, named by its pid.
end_natively() {
	[[ -z $native_pid ]] || kill -KILL -- "-$native_pid" 2>/dev/null || true
	clean_up
}

native_status() {
	local status=0
	{ wait "$native_pid"; } 2>/dev/null || status=$? # without the shell's message that it was killed
	if (($(now_us) - started_us >= opt_deadline * 1000000)); then
		status=$LAB_STATUS_DEADLINE
		say "deadline of $opt_deadline s reached: CMD was still running and has been ended"
	fi
	return "$status"
}

run_natively() {
	local environment status=0
	run_dir=$(mktemp -d "${TMPDIR:-/tmp}/lab.XXXXXX")
	native_pid=''
	mapfile -t environment < <(native_environment)
	say "running natively on $(first_device rdma), not in a guest (--guest asks for one)"
	trap end_natively EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	relay_ports
	ulimit -l unlimited 2>/dev/null || true
	ulimit -n 65536 2>/dev/null || true
	started_us=$(now_us) ready_us=$started_us
	timeout -s KILL "$opt_deadline" env -i "${environment[@]}" "${opt_env[@]}" "${CMD[@]}" </dev/null &
	native_pid=$!
	native_status || status=$?
	[[ -z $opt_time ]] || report_time
	exit "$status"
}
