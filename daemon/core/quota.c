/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/quota.h"

#include "base/clock.h"
#include "rdma/fabric/fabric.h"

const char *vbd_quota_name(enum vbd_quota quota)
{
	static const char *const names[VBD_QUOTA_COUNT] = {
#define QUOTA_NAME(name, max) [VBD_QUOTA_##name] = #name,
		VBD_QUOTA_MAP(QUOTA_NAME)
#undef QUOTA_NAME
	};

	return names[quota];
}

uint64_t vbd_quota_max(const struct vbd_caller *caller, enum vbd_quota quota)
{
	const uint64_t quotas[VBD_QUOTA_COUNT] = {
#define QUOTA_VALUE(name, max) [VBD_QUOTA_##name] = caller->quotas.name,
		VBD_QUOTA_MAP(QUOTA_VALUE)
#undef QUOTA_VALUE
	};

	return quotas[quota];
}

uint64_t vbd_quota_used(const struct vbd_caller *caller, enum vbd_quota quota, uint64_t now_ns)
{
	uint32_t per_s = (uint32_t)caller->quotas.requests_per_s;

	if (quota != VBD_QUOTA_requests_per_s)
		return caller->used[quota];
	return per_s ? vbd_bucket_taken(caller->requests_full_ns, per_s, now_ns) : 0;
}

/* VBD_E_THROTTLED for requests and streams, which end by themselves: a later try may succeed. */
static enum vbd_status set_quota_exceeded(const struct vbd_caller *caller, enum vbd_quota quota,
	const char *why, struct vbd_error *err)
{
	bool passes = quota == VBD_QUOTA_requests_per_s || quota == VBD_QUOTA_streams;

	if (err && err->status == VBD_OK) {
		err->limit = vbd_quota_max(caller, quota);
		(void)snprintf(
			err->limit_name, sizeof(err->limit_name), "%s", vbd_quota_name(quota));
		(void)snprintf(err->caller, sizeof(err->caller), "%s", caller->name);
	}
	return vbd_error_set(err, passes ? VBD_E_THROTTLED : VBD_E_QUOTA_EXCEEDED,
		"%s: the quota %s is %llu%s", caller->name, vbd_quota_name(quota),
		(unsigned long long)vbd_quota_max(caller, quota), why);
}

enum vbd_status vbd_quota_check(const struct vbd_caller *caller, enum vbd_quota quota,
	uint64_t amount, struct vbd_error *err)
{
	uint64_t max = caller ? vbd_quota_max(caller, quota) : 0;
	char why[80];

	/* After a reload the quota may be below what the caller has. */
	if (!max || (caller->used[quota] <= max && amount <= max - caller->used[quota]))
		return VBD_OK;
	(void)snprintf(why, sizeof(why), "; %llu are in use, and %llu more are needed",
		(unsigned long long)caller->used[quota], (unsigned long long)amount);
	return set_quota_exceeded(caller, quota, why, err);
}

void vbd_quota_count(struct vbd_caller *caller, enum vbd_quota quota, uint64_t amount)
{
	if (caller)
		caller->used[quota] += amount;
}

void vbd_quota_give_back(struct vbd_caller *caller, enum vbd_quota quota, uint64_t amount)
{
	if (caller)
		caller->used[quota] -= amount;
}

enum vbd_status vbd_quota_take_request(
	struct vbd_caller *caller, uint64_t now_ns, struct vbd_error *err)
{
	uint32_t per_s = caller ? (uint32_t)caller->quotas.requests_per_s : 0;
	uint64_t full_ns;

	if (!per_s)
		return VBD_OK;
	full_ns = vbd_bucket_take(caller->requests_full_ns, per_s, per_s, now_ns);
	if (!full_ns)
		return set_quota_exceeded(caller, VBD_QUOTA_requests_per_s, "", err);
	caller->requests_full_ns = full_ns;
	return VBD_OK;
}

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
