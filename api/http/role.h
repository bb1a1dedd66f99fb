/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client may do. A role includes those before it.
 *
 * Any thread.
 */
#ifndef VBD_API_HTTP_ROLE_H
#define VBD_API_HTTP_ROLE_H

enum vbd_role {
	VBD_ROLE_NONE,	  /* nobody in particular: health only */
	VBD_ROLE_READ,	  /* sees everything but keys, addresses of memory and its contents */
	VBD_ROLE_CONTROL, /* does everything */
};

/** vbd_role_name - "none", "read", "control" */
const char *vbd_role_name(enum vbd_role role);

#endif
