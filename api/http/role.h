/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The permissions of a client. A role includes the roles before it.
 *
 * Any thread.
 */
#ifndef VBD_API_HTTP_ROLE_H
#define VBD_API_HTTP_ROLE_H

enum vbd_role {
	VBD_ROLE_NONE,	  /* health and dashboard files only */
	VBD_ROLE_READ,	  /* GET, except keys, addresses and contents of memory */
	VBD_ROLE_CONTROL, /* everything */
};

/** vbd_role_name - "none", "read", "control" */
const char *vbd_role_name(enum vbd_role role);

#endif
