/* SPDX-License-Identifier: Apache-2.0 */
/* The completion scripts, each as a text that ends with NUL, so that verbsctl can print them. */
	.macro	script shell
	.globl	vbd_ctl_script_\shell
	.type	vbd_ctl_script_\shell, %object
vbd_ctl_script_\shell:
	.incbin	"verbsctl.\shell"
	.byte	0
	.endm

	.section .rodata
	script	bash
	script	zsh
	script	fish
	.section .note.GNU-stack, "", %progbits
