/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the configuration again while the daemon runs. Files are read on the thread pool; a fault
 * in any of them leaves all as it was.
 *
 * Control thread.
 */
#ifndef VBD_CMD_VERBSD_RELOAD_H
#define VBD_CMD_VERBSD_RELOAD_H

#include "api/api.h"
#include "base/error.h"
#include "daemon/config/config.h"

#include <stdbool.h>

struct vbd_reload {
	/* Set by the program, and valid as long as the loop runs. */
	struct vbd_config *config; /* in force */
	struct vbd_daemon *daemon;
	struct vbd_api *api;
	/* Read file and options, and check them; runs on the thread pool. */
	enum vbd_status (*read)(void *arg, struct vbd_config *ret_config,
		struct vbd_caller_list *ret_callers, struct vbd_config_specs *ret_specs,
		struct vbd_error *err);
	void *arg;

	bool running;
	bool again; /* a signal came meanwhile */
};

/** vbd_reload_begin - begin to reload; VBD_E_WRONG_STATE while another reload is under way */
enum vbd_status vbd_reload_begin(struct vbd_reload *reload, struct vbd_error *err);

/** vbd_reload_on_signal - reload now, or once more after the reload that is under way: what it has
 * read may be older than the signal */
void vbd_reload_on_signal(struct vbd_reload *reload);

#endif
