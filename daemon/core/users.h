/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that use another one, as the caller of the present request is told of them: objects
 * that it sees by their paths, those of other callers by their number.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_CORE_USERS_H
#define VBD_DAEMON_CORE_USERS_H

#include "daemon/core/context.h"

#define VBD_USERS_SHOWN_MAX 16

struct vbd_users {
	size_t total;
	size_t hidden; /* objects of other callers, included in `total` */
	size_t shown;  /* of `paths`: "/v1/transfers/9" */
	char paths[VBD_USERS_SHOWN_MAX][VBD_PATH_BYTES];
};

/** vbd_users_add - @object is one of them; @users begins as zeros */
void vbd_users_add(struct vbd_users *users, const struct vbd_object *object);

#endif
