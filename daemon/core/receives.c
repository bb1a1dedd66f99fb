/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/receives.h"

#include "daemon/core/quota.h"
#include "rdma/fabric/fabric.h"

uint64_t vbd_receives_bytes(const struct vbd_daemon *daemon)
{
	return daemon->qp_receives_bytes + daemon->fabric->srqs_bytes;
}

enum vbd_status vbd_receives_check(const struct vbd_daemon *daemon, const struct vbd_caller *owner,
	uint64_t receive_bytes, const char *pointer, struct vbd_error *err)
{
	uint64_t limit_bytes = daemon->config->limits.receives_bytes;
	uint64_t taken_bytes = vbd_receives_bytes(daemon);

	if (taken_bytes <= limit_bytes && receive_bytes <= limit_bytes - taken_bytes)
		return vbd_quota_check(owner, VBD_QUOTA_pinned_bytes, receive_bytes, err);
	vbd_error_limit(err, "receives_bytes", limit_bytes);
	return vbd_error_input(err,
		receive_bytes > limit_bytes ? VBD_E_LIMIT_EXCEEDED : VBD_E_LIMIT_REACHED, pointer,
		"all receives together can have %llu bytes; %llu are in use, and %llu are needed",
		(unsigned long long)limit_bytes, (unsigned long long)taken_bytes,
		(unsigned long long)receive_bytes);
}
