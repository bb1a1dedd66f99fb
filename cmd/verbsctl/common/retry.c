/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/retry.h"

#include "cmd/verbsctl/common/call.h"

#define FIRST_MS 250
#define LAST_MS	 5000

bool vbd_ctl_may_pass(enum vbd_ctl_outcome outcome, const struct vbd_ctl_answer *answer)
{
	return outcome == VBD_CTL_UNREACHABLE || outcome == VBD_CTL_LOST ||
	       (outcome == VBD_CTL_ANSWERED && (answer->status >= 500 || answer->status == 429));
}

void vbd_ctl_retry_wait(
	struct vbd_ctl_retry *retry, const struct vbd_ctl_http *http, const char *why)
{
	if (retry->pause_ms == 0) {
		vbd_ctl_note("lost verbsd at %s: %s; trying again", http->shown,
			why ? why : "it can't answer now");
		retry->pause_ms = FIRST_MS;
	}
	vbd_ctl_pause_ms(retry->pause_ms);
	retry->pause_ms *= 2;
	if (retry->pause_ms > LAST_MS)
		retry->pause_ms = LAST_MS;
}

bool vbd_ctl_retry_over(struct vbd_ctl_retry *retry, const struct vbd_ctl_http *http)
{
	if (retry->pause_ms == 0)
		return false;
	retry->pause_ms = 0;
	vbd_ctl_note("verbsd at %s is back", http->shown);
	return true;
}
