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
	VBD_RANGE_WHOLE,   /* no range, several, or an invalid one: answer 200 with all bytes */
	VBD_RANGE_PART,	   /* answer 206 */
	VBD_RANGE_OUTSIDE, /* answer 416 */
};

/**
 * vbd_range_parse - find the range of a resource of @size_bytes
 * @value: the header's value; NULL if there is none
 *
 * Sets the outputs for VBD_RANGE_PART only.
 */
enum vbd_range vbd_range_parse(
	const char *value, uint64_t size_bytes, uint64_t *ret_first, uint64_t *ret_length_bytes);

#endif
