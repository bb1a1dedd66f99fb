# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Chooses KVM or emulation, and how many processors a guest has. Sourced by lab/run.
#
# /dev/kvm can exist and yet hang a guest before the kernel's first line (seen in nested machines),
# and QEMU doesn't notice. So KVM is used only where the processor has it and a guest has really
# booted with it within a few seconds. The verdict holds until the host boots again.

readonly LAB_KVM_PROBE_SECONDS=8

# Nehalem: quicker to emulate than QEMU's full model, and enough for binaries of x86-64-v2. rdrand
# lets the guest's random generator start at once.
readonly -a LAB_TCG_ARGS=(-accel "tcg,thread=multi" -cpu "Nehalem,+rdrand")
readonly -a LAB_KVM_ARGS=(-accel kvm -cpu host)

# A second emulated processor costs a third more of the host's time for the same work: each atomic
# instruction becomes a real one, and each wake-up on the other processor a trap into QEMU.
readonly LAB_TCG_CPUS=1 LAB_KVM_CPUS=2

kvm_is_plausible() {
	[[ -r /dev/kvm && -w /dev/kvm ]] && grep -qwE 'vmx|svm' /proc/cpuinfo
}

# Boots as far as the initramfs, which answers on the second serial port and switches off.
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

choose_accelerator() {
	local cpus=$LAB_TCG_CPUS
	accel_args=("${LAB_TCG_ARGS[@]}")
	if kvm_is_plausible && kvm_verdict; then
		accel_args=("${LAB_KVM_ARGS[@]}")
		cpus=$LAB_KVM_CPUS
	fi
	accel_args+=(-smp "${opt_cpus:-$cpus}")
}
