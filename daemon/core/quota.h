/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quotas of callers. What a caller has is counted also without a quota: a reload may bring a
 * quota, which holds for what comes later. The daemon itself (a NULL caller) has no quotas.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_CORE_QUOTA_H
#define VBD_DAEMON_CORE_QUOTA_H

#include "daemon/core/caller.h"
#include "daemon/core/context.h"

/** vbd_quota_name - "pinned_bytes", as in callers_file */
const char *vbd_quota_name(enum vbd_quota quota);

/** vbd_quota_max - the caller's quota; 0 if it has none */
uint64_t vbd_quota_max(const struct vbd_caller *caller, enum vbd_quota quota);

/** vbd_quota_used - the amount that counts for the caller; for VBD_QUOTA_requests_per_s the
 * requests that count now, and 0 without that quota. @now_ns: of the monotonic clock */
uint64_t vbd_quota_used(const struct vbd_caller *caller, enum vbd_quota quota, uint64_t now_ns);

/**
 * vbd_quota_check - may a caller have @amount more?
 * @quota: any but VBD_QUOTA_requests_per_s
 *
 * Returns VBD_OK, or VBD_E_QUOTA_EXCEEDED (VBD_E_THROTTLED for streams) with the quota as limit,
 * its name and the caller's.
 */
enum vbd_status vbd_quota_check(const struct vbd_caller *caller, enum vbd_quota quota,
	uint64_t amount, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_quota_count - the caller has @amount more */
void vbd_quota_count(struct vbd_caller *caller, enum vbd_quota quota, uint64_t amount);

/** vbd_quota_give_back - the caller has @amount less, which was counted for it */
void vbd_quota_give_back(struct vbd_caller *caller, enum vbd_quota quota, uint64_t amount);

/**
 * vbd_quota_take_request - count a request against requests_per_s
 * @now_ns: of the monotonic clock
 *
 * As many as the quota may come at once. Returns as vbd_quota_check().
 */
enum vbd_status vbd_quota_take_request(
	struct vbd_caller *caller, uint64_t now_ns, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_receives_bytes - the memory of all receives */
uint64_t vbd_receives_bytes(const struct vbd_daemon *daemon);

/**
 * vbd_receives_check - may receives have @receive_bytes more?
 * @owner:   of the object that will have them; NULL: the daemon itself
 * @pointer: the request's member to name in @err
 *
 * VBD_E_LIMIT_REACHED, with the limit, beyond limits.receives_bytes; VBD_E_QUOTA_EXCEEDED beyond
 * the owner's pinned_bytes.
 */
enum vbd_status vbd_receives_check(const struct vbd_daemon *daemon, const struct vbd_caller *owner,
	uint64_t receive_bytes, const char *pointer, struct vbd_error *err) VBD_MUST_CHECK;

#endif
