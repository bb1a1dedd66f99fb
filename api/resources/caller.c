/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/handlers.h"

#include "api/http/request.h"
#include "api/json/encode.h"
#include "base/clock.h"
#include "daemon/core/quota.h"

static void put_wall_time(struct vbd_encoder *out, const char *name, uint64_t wall_s)
{
	char text[VBD_TIME_TEXT_BYTES];

	vbd_put_text(out, name, wall_s ? vbd_clock_format_wall(wall_s * VBD_NS_PER_S, text) : NULL);
}

/* Requests are counted for a caller with that quota only. */
static void put_quota(
	struct vbd_encoder *out, const struct vbd_caller *caller, enum vbd_quota quota)
{
	uint64_t max = vbd_quota_max(caller, quota);

	vbd_begin_object(out, vbd_quota_name(quota));
	vbd_put_u64_or_null(out, "limit", max != 0, max);
	vbd_put_u64_or_null(out, "used", max != 0 || quota != VBD_QUOTA_requests_per_s,
		vbd_quota_used(caller, quota, vbd_clock_mono_ns()));
	vbd_end(out);
}

void vbd_get_caller(struct vbd_request *req)
{
	const struct vbd_identity *identity = &req->identity;
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_text(&out, "name", req->caller->name);
	vbd_put_text(&out, "role", vbd_role_name(req->role));
	vbd_put_text(&out, "client", req->client);
	vbd_put_text(&out, "authenticated_by", vbd_auth_means_name(identity->means));
	vbd_put_text(&out, "certificate_name", identity->cert_name);
	put_wall_time(&out, "expires_at", identity->expires_wall_s);
	vbd_begin_object(&out, "quotas");
	for (enum vbd_quota quota = 0; quota < VBD_QUOTA_COUNT; quota++)
		put_quota(&out, req->caller, quota);
	vbd_end(&out);
	vbd_reply_json(req, 200, &out);
}
