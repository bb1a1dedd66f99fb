/* SPDX-License-Identifier: Apache-2.0 */
/* The contract as bytes, so that the daemon serves the very document that it was built with. */
	.section .rodata
	.globl	vbd_openapi_start
	.globl	vbd_openapi_end
	.type	vbd_openapi_start, %object
	.type	vbd_openapi_end, %object
vbd_openapi_start:
	.incbin "openapi.yaml"
vbd_openapi_end:
	.byte	0
	.section .note.GNU-stack, "", %progbits
