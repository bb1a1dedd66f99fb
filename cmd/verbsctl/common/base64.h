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

/** vbd_ctl_base64_encode - as text with its padding; the caller frees it */
char *vbd_ctl_base64_encode(const void *bytes, size_t len_bytes);

/**
 * vbd_ctl_base64_decode - the bytes of @text; the caller frees them
 *
 * Returns false if @text is not base64 with its padding.
 */
bool vbd_ctl_base64_decode(const char *text, char **ret_bytes, size_t *ret_len_bytes);

#endif
