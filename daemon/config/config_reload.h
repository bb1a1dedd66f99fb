/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of the configuration that may change while the daemon runs.
 */
#ifndef VBD_DAEMON_CONFIG_CONFIG_RELOAD_H
#define VBD_DAEMON_CONFIG_CONFIG_RELOAD_H

#include "daemon/config/config.h"

/* At least the number of keys. */
#define VBD_CONFIG_CHANGES_MAX 96

/* Keys whose values differ, as static strings. */
struct vbd_config_changes {
	const char *taken[VBD_CONFIG_CHANGES_MAX]; /* the daemon can take them up */
	size_t n_taken;
	const char *left[VBD_CONFIG_CHANGES_MAX]; /* keys that need a restart */
	size_t n_left;
};

/** vbd_config_compare - find the keys that differ between two configurations; any thread that may
 * read both */
void vbd_config_compare(const struct vbd_config *config, const struct vbd_config *fresh,
	struct vbd_config_changes *ret_changes);

/** vbd_config_take - copy the keys of @fresh that may change while the daemon runs, and its tokens;
 * control thread */
void vbd_config_take(struct vbd_config *config, const struct vbd_config *fresh);

#endif
