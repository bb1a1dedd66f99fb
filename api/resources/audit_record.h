/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit: who did what to which object, from where, and with which outcome. Each record is a
 * line of audit_file; most are an event of the type `audit` as well.
 *
 * Control thread; nothing here blocks.
 */
#ifndef VBD_API_RESOURCES_AUDIT_RECORD_H
#define VBD_API_RESOURCES_AUDIT_RECORD_H

#include "api/http/request.h"
#include "base/error.h"

struct vbd_api;

/** vbd_audit_init - begin with a whole ration of events about requests that failed */
enum vbd_status vbd_audit_init(struct vbd_api *api, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_audit_request - record a request that is answered, or whose client left before
 *
 * What moves data, thousands of times a second, is in the file only, and failures are events, and
 * kept in state_dir, within a ration: both are bounded, and nobody shall be able to empty them.
 */
void vbd_audit_request(struct vbd_request *req);

/** vbd_audit_refusal - record in the file that a client without a known caller was refused */
void vbd_audit_refusal(struct vbd_api *api, const char *client, const struct vbd_error *err);

/** vbd_audit_refusals_more - record in the file that @count more clients were refused */
void vbd_audit_refusals_more(struct vbd_api *api, uint64_t count);

#endif
