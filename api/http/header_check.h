/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place where a request is refused for its header fields alone: the checks of header.h.
 *
 * Control thread; nothing here blocks.
 */
#ifndef VBD_API_HTTP_HEADER_CHECK_H
#define VBD_API_HTTP_HEADER_CHECK_H

#include "base/attr.h"
#include "base/error.h"

struct vbd_request;

/**
 * vbd_headers_check - refuse a request for its fields
 *
 * Returns VBD_E_BAD_VALUE, VBD_E_UNSUPPORTED_MEDIA_TYPE, or VBD_E_EXPECTATION_FAILED.
 */
enum vbd_status vbd_headers_check(struct vbd_request *req, struct vbd_error *err) VBD_MUST_CHECK;

#endif
