/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of the daemon as members of JSON objects, besides those of api/json/writer.h.
 *
 * Control thread.
 */
#ifndef VBD_API_JSON_ENCODE_H
#define VBD_API_JSON_ENCODE_H

#include "api/json/writer.h"
#include "daemon/core/registry.h"

/** vbd_put_labels - put the member `labels`: {"job": "x"}; {} for NULL */
void vbd_put_labels(struct vbd_encoder *out, const struct vbd_labels *labels);

/** vbd_put_owner - put the member `owner`, the name of a caller; null: the daemon itself */
void vbd_put_owner(struct vbd_encoder *out, const struct vbd_object *object);

/** vbd_put_object - put the members `id`, `name` (null if there is none), `owner` and `labels` */
void vbd_put_object(struct vbd_encoder *out, const struct vbd_object *object);

/** vbd_put_address - put "192.0.2.1" or "fe80::1%eth0"; an empty address gives null */
void vbd_put_address(
	struct vbd_encoder *out, const char *name, const struct sockaddr_storage *address);

/** vbd_gid_text - a GID in the notation of an IPv6 address; returns @text */
#define VBD_GID_TEXT_BYTES 46
const char *vbd_gid_text(const uint8_t raw[16], char text[VBD_GID_TEXT_BYTES]);

#endif
