/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbsctl top: a table of the connections on the whole terminal, fetched again at intervals.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_TOP_TOP_H
#define VBD_CMD_VERBSCTL_TOP_TOP_H

#include "cmd/verbsctl/common/call.h"

/**
 * vbd_ctl_top - show the table until the user quits
 *
 * Blocks. Returns the exit status of the program; if that is not VBD_CTL_OK, the error is printed.
 */
enum vbd_ctl_exit vbd_ctl_top(struct vbd_ctl *ctl);

#endif
