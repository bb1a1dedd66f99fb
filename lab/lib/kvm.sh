# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Chooses KVM or emulation, and the number of processors of a guest. Sourced by lab/run.
#
# In nested machines /dev/kvm can exist and yet hang a guest before the first line of its kernel,
# which QEMU does not notice. So KVM is used only if a guest has booted with it within a few
# seconds. The result is kept until the host boots again.

readonly LAB_KVM_PROBE_SECONDS=8

# Nehalem is faster to emulate than QEMU's full model, and runs binaries for x86-64-v2. With rdrand
# the guest's random generator starts at once.
readonly -a LAB_TCG_ARGS=(-accel "tcg,thread=multi" -cpu "Nehalem,+rdrand")
readonly -a LAB_KVM_ARGS=(-accel kvm -cpu host)

# The guest's clock counts instructions, 2 ns each, while the guest works, and goes with the host's while it idles: a
# guest that starves beside others is slow and does not know it, so that no deadline in it passes. With shift=3 the
# processor is too slow for its own clock; with sleep=off an idle guest jumps to its next timer while an answer of 9p
# is on its way.
readonly -a LAB_COUNTED_ARGS=(-accel "tcg,thread=single" -icount "shift=1,sleep=on" -rtc clock=vm -cpu "Nehalem,+rdrand")

# A second emulated processor costs a third more of the host's time for the same work: QEMU emulates
# atomic instructions as real ones, and each wake-up of the other processor is a trap.
readonly LAB_TCG_CPUS=1 LAB_KVM_CPUS=2

kvm_is_plausible() {
	[[ -r /dev/kvm && -w /dev/kvm ]] && grep -qwE 'vmx|svm' /proc/cpuinfo
}

# Boots only the initramfs, which answers on the second serial port and switches off.
kvm_boots() {
	local answer
	answer=$(timeout -k 1 "$LAB_KVM_PROBE_SECONDS" qemu-system-x86_64 -nodefaults -no-user-config \
		-display none -no-reboot -m 512 "${LAB_KVM_ARGS[@]}" \
		-kernel "$LAB_CACHE/kernel/vmlinux" -initrd "$LAB_CACHE/initramfs" \
		-append "console=ttyS0 panic=-1 lab.probe=1" -serial null -serial stdio \
		</dev/null 2>/dev/null) || true
	[[ $answer == "probe ok"* ]]
}

kvm_verdict() {
	local file=$LAB_CACHE/kvm-verdict boot verdict=no known_boot='' known=''
	boot=$(</proc/sys/kernel/random/boot_id)
	[[ ! -r $file ]] || read -r known_boot known <"$file" || true
	if [[ $known_boot != "$boot" ]]; then
		say "trying KVM (once, at most $LAB_KVM_PROBE_SECONDS s)"
		! kvm_boots || verdict=yes
		printf '%s %s\n' "$boot" "$verdict" >"$file"
		known=$verdict
	fi
	[[ $known == yes ]]
}

# Two guests would have two clocks, a client on the host has the host's, and counted processors take turns.
counts_time() {
	[[ -z $opt_peer && ${#opt_forward[@]} -eq 0 && ${opt_cpus:-$LAB_TCG_CPUS} -eq 1 ]]
}

choose_accelerator() {
	local cpus=$LAB_TCG_CPUS
	accel_args=("${LAB_TCG_ARGS[@]}")
	! counts_time || accel_args=("${LAB_COUNTED_ARGS[@]}")
	if [[ -z $opt_counted ]] && kvm_is_plausible && kvm_verdict; then
		accel_args=("${LAB_KVM_ARGS[@]}")
		cpus=$LAB_KVM_CPUS
	fi
	accel_args+=(-smp "${opt_cpus:-$cpus}")
}
