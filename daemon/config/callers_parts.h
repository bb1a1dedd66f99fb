/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces between the files of the callers of a configuration:
 *
 *   callers.c       the whole list: token files, groups, callers_file
 *   callers_file.c  callers_file
 *   caller_list.c   a list and its parts
 *
 * Each file calls only those below it in this list.
 */
#ifndef VBD_DAEMON_CONFIG_CALLERS_PARTS_H
#define VBD_DAEMON_CONFIG_CALLERS_PARTS_H

#include "daemon/config/callers.h"

/** vbd_callers_file_read - add the callers of a file; errors as of vbd_caller_list_load() */
enum vbd_status vbd_callers_file_read(
	const char *path, struct vbd_caller_list *list, struct vbd_error *err) VBD_MUST_CHECK;

#endif
