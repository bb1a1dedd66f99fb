/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors from verbsd, which come over its unix socket beside the bytes of an answer. libcurl
 * does not receive them, so the request is sent here.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_DESCRIPTOR_H
#define VBD_CMD_VERBSCTL_COMMON_DESCRIPTOR_H

#include "cmd/verbsctl/common/http.h"

/**
 * vbd_ctl_descriptor_get - GET a path whose answer has a descriptor
 * @path:   path and query
 * @ret_fd: close-on-exec, owned by the caller; set on success
 *
 * Blocks, for http->patience_s at most. Prints the error, that of the server if it has one, and
 * returns its exit status if there is no descriptor.
 */
enum vbd_ctl_exit vbd_ctl_descriptor_get(struct vbd_ctl_http *http, const char *path, int *ret_fd);

#endif
