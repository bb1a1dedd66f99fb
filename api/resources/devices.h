/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices, their ports and GIDs.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_DEVICES_H
#define VBD_API_RESOURCES_DEVICES_H

#include <jansson.h>

struct vbd_gid;

/** vbd_encode_gid - schema Gid; NULL without memory */
json_t *vbd_encode_gid(const struct vbd_gid *gid);

#endif
