/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON documents of requests: bytes to values.
 *
 * Any thread.
 */
#ifndef VBD_API_JSON_PARSE_H
#define VBD_API_JSON_PARSE_H

#include "base/attr.h"
#include "base/error.h"

#include <jansson.h>

/**
 * vbd_json_parse - parse a document
 * @ret_json: a new reference
 *
 * A number without a fraction is an integer, however it is written: 5000.0, 5e3.
 *
 * Returns VBD_E_MALFORMED_JSON, VBD_E_BAD_UTF8 or VBD_E_OUT_OF_RANGE (an integer beyond 64 bits),
 * each with line and column; VBD_E_NO_MEMORY.
 */
enum vbd_status vbd_json_parse(const char *bytes, size_t len_bytes, json_t **ret_json,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
