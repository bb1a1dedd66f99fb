/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The permissions of a caller. A role includes the roles before it, but for one thing: the role
 * "operate" is about the caller's own objects, and "read" sees those of all.
 *
 * Any thread.
 */
#ifndef VBD_DAEMON_CONFIG_ROLE_H
#define VBD_DAEMON_CONFIG_ROLE_H

#include "base/enum.h"

/* X(SYMBOL, name), rising; x-role in openapi.yaml */
#define VBD_ROLE_MAP(X)                                                               \
	/* health and dashboard files only */                                         \
	X(VBD_ROLE_NONE, "none")                                                      \
	/* GET, without the members of a higher x-role: keys, addresses, contents */  \
	X(VBD_ROLE_READ, "read")                                                      \
	/* makes objects, and does everything with those that are the caller's own */ \
	X(VBD_ROLE_OPERATE, "operate")                                                \
	/* everything */                                                              \
	X(VBD_ROLE_CONTROL, "control")

enum vbd_role { VBD_ROLE_MAP(VBD_ENUM_ROW) VBD_ROLE_COUNT };

/** vbd_role_name - "none", "read", "operate", "control" */
const char *vbd_role_name(enum vbd_role role);

/** vbd_role_parse - false if @name is not the name of a role */
bool vbd_role_parse(const char *name, enum vbd_role *ret_role);

#endif
