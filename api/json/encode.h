/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building JSON objects member by member. After a failure (no memory) vbd_encode_end() returns NULL
 * instead of an incomplete object.
 *
 * Control thread.
 */
#ifndef VBD_API_JSON_ENCODE_H
#define VBD_API_JSON_ENCODE_H

#include "daemon/core/registry.h"

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct vbd_encoder {
	json_t *object;
	bool failed;
};

/** vbd_encode_begin - begin with an empty object */
struct vbd_encoder vbd_encode_begin(void);

/** vbd_encode_end - the object, a new reference; NULL without memory */
json_t *vbd_encode_end(struct vbd_encoder *encoder);

/** vbd_put - put any value; steals the reference; NULL counts as a failure */
void vbd_put(struct vbd_encoder *encoder, const char *name, json_t *value);

/** vbd_put_text - put text of any origin: bytes that are not UTF-8 become '?'; NULL gives null */
void vbd_put_text(struct vbd_encoder *encoder, const char *name, const char *text);

/** vbd_put_text_or_null - put text; "" gives null */
void vbd_put_text_or_null(struct vbd_encoder *encoder, const char *name, const char *text);
void vbd_put_u64(struct vbd_encoder *encoder, const char *name, uint64_t value);
void vbd_put_i64(struct vbd_encoder *encoder, const char *name, int64_t value);
void vbd_put_null(struct vbd_encoder *encoder, const char *name);

/** vbd_put_u64_or_null - put @value; null unless @known */
void vbd_put_u64_or_null(struct vbd_encoder *encoder, const char *name, bool known, uint64_t value);

/** vbd_put_hex - put "0x1a71" with at least @digits digits */
void vbd_put_hex(struct vbd_encoder *encoder, const char *name, uint64_t value, int digits);

/** vbd_put_time - put a time of the monotonic clock as wall-clock time; 0 gives null */
void vbd_put_time(struct vbd_encoder *encoder, const char *name, uint64_t mono_ns);

/** vbd_encode_labels - {"job": "x"}; {} for NULL */
json_t *vbd_encode_labels(const struct vbd_labels *labels);

/** vbd_put_owner - put the member `owner`, the name of a caller; null: the daemon itself */
void vbd_put_owner(struct vbd_encoder *encoder, const struct vbd_object *object);

/** vbd_put_object - put the members `id`, `name` (null if there is none), `owner` and `labels` */
void vbd_put_object(struct vbd_encoder *encoder, const struct vbd_object *object);

/** vbd_put_address - put "192.0.2.1" or "fe80::1%eth0"; an empty address gives null */
void vbd_put_address(
	struct vbd_encoder *encoder, const char *name, const struct sockaddr_storage *address);

/** vbd_gid_text - a GID in the notation of an IPv6 address; returns @text */
#define VBD_GID_TEXT_BYTES 46
const char *vbd_gid_text(const uint8_t raw[16], char text[VBD_GID_TEXT_BYTES]);

#endif
