/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base64 (RFC 4648 section 4), for messages that are not text.
 *
 * Any thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_BASE64_H
#define VBD_CMD_VERBSCTL_COMMON_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/** vbd_ctl_base64_encode - encode bytes, with padding; the caller frees the text */
char *vbd_ctl_base64_encode(const void *bytes, size_t len_bytes);

/**
 * vbd_ctl_base64_decode - decode a text
 * @text:      base64 with padding
 * @ret_bytes: set on success; the caller frees it
 *
 * Returns false if @text is malformed.
 */
bool vbd_ctl_base64_decode(const char *text, char **ret_bytes, size_t *ret_len_bytes);

#endif
