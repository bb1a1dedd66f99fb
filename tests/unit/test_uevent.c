/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/uevent.h"

#include "tests/unit/unit.h"

#include <fcntl.h>

static void must_not_be_called(const char *action, const char *sysname, void *arg)
{
	(void)arg;
	fail_msg("a uevent nobody caused: %s %s", action, sysname);
}

/* Reception of uevents is tested in the guest, where devices can be made. */
TEST(test_uevent__draining_nothing_returns_at_once_or_creation_says_why_not)
{
	struct vbd_uevent *uevent = NULL;
	struct vbd_error err = {0};

	if (vbd_uevent_create(&uevent, &err) != VBD_OK) {
		assert_null(uevent);
		assert_non_null(err.call);
		print_message("no uevents here: %s\n", err.text);
		return;
	}
	assert_true(fcntl(vbd_uevent_fd(uevent), F_GETFL) & O_NONBLOCK);
	assert_true(vbd_uevent_drain(uevent, must_not_be_called, NULL));
	vbd_uevent_destroy(uevent);
}

TEST(test_uevent__destroying_nothing_is_fine)
{
	vbd_uevent_destroy(NULL);
}
