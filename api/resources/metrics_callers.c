/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/metrics_parts.h"
#include "base/clock.h"
#include "daemon/core/quota.h"

static void put_caller(struct vbd_metrics_text *out, const struct vbd_caller *of, bool used)
{
	uint64_t now_ns = vbd_clock_mono_ns();

	for (enum vbd_quota quota = 0; quota < VBD_QUOTA_COUNT; quota++) {
		uint64_t max = vbd_quota_max(of, quota);

		if (max)
			vbd_metrics_put(out,
				VBD_LABELS(VBD_LABEL("caller", of->name),
					VBD_LABEL("quota", vbd_quota_name(quota))),
				used ? vbd_quota_used(of, quota, now_ns) : max);
	}
}

static void put_callers(struct vbd_metrics_text *out, const struct vbd_callers *callers,
	const struct vbd_caller *scope, bool used)
{
	for (const struct vbd_caller *of = callers->by_name; of; of = of->by_name.next) {
		if (vbd_caller_sees(scope, of))
			put_caller(out, of, used);
	}
}

void vbd_metrics_put_callers(struct vbd_metrics_text *out, const struct vbd_daemon *daemon,
	const struct vbd_caller *scope)
{
	vbd_metrics_family(out, "verbsd_caller_usage", "gauge",
		"What a caller has of what its quota is for, for each quota that it has.");
	put_callers(out, &daemon->callers, scope, true);
	vbd_metrics_family(
		out, "verbsd_caller_quota", "gauge", "The quotas of a caller, from callers_file.");
	put_callers(out, &daemon->callers, scope, false);
}
