/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of the objects of each kind, which the build takes from openapi.yaml.
 *
 * Any thread.
 */
#ifndef VBD_API_RESOURCES_MEMBERS_H
#define VBD_API_RESOURCES_MEMBERS_H

#include "api/http/view.h"
#include "daemon/core/kinds.h"

#define VBD_MEMBERS_EXTERN(sym, singular, plural, open, kept) \
	extern const struct vbd_member vbd_##singular##_members[];
VBD_KIND_MAP(VBD_MEMBERS_EXTERN)
#undef VBD_MEMBERS_EXTERN
extern const struct vbd_member vbd_device_members[];

#endif
