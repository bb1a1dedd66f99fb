/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Range header (RFC 9110, section 14), as far as it names one range of bytes.
 *
 * Any thread.
 */
#ifndef VBD_API_HTTP_RANGE_H
#define VBD_API_HTTP_RANGE_H

#include <stdint.h>

enum vbd_range {
	VBD_RANGE_WHOLE,   /* none, several, or not understood: answer with everything */
	VBD_RANGE_PART,	   /* answer 206 */
	VBD_RANGE_OUTSIDE, /* answer 416 */
};

/**
 * vbd_range_parse - what a client wants of @size_bytes
 * @value: the header's; NULL if there is none
 *
 * Sets the outputs for VBD_RANGE_PART only.
 */
enum vbd_range vbd_range_parse(
	const char *value, uint64_t size_bytes, uint64_t *ret_first, uint64_t *ret_length_bytes);

#endif
