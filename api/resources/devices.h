/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices, their ports and GIDs.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_DEVICES_H
#define VBD_API_RESOURCES_DEVICES_H

struct vbd_encoder;
struct vbd_gid;

/** vbd_put_gid - put schema Gid */
void vbd_put_gid(struct vbd_encoder *out, const char *name, const struct vbd_gid *gid);

#endif
