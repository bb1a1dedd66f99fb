/* SPDX-License-Identifier: Apache-2.0 */
/* The contract as bytes, so that the daemon serves the very documents that it was built with. */
	.section .rodata
	.globl	vbd_openapi_start, vbd_openapi_end, vbd_extra_start, vbd_extra_end
	.type	vbd_openapi_start, %object
	.type	vbd_openapi_end, %object
	.type	vbd_extra_start, %object
	.type	vbd_extra_end, %object
vbd_openapi_start:
	.incbin "openapi.yaml"
vbd_openapi_end:
	.byte	0
vbd_extra_start:
	.incbin "openapi-extra.yaml"
vbd_extra_end:
	.byte	0
	.section .note.GNU-stack, "", %progbits
