/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json/encode.h"

#include "api/json/utf8.h"
#include "base/clock.h"
#include "daemon/core/addr.h"
#include "daemon/core/caller.h"
#include "daemon/core/labels.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>

struct vbd_encoder vbd_encode_begin(void)
{
	struct vbd_encoder encoder = {.object = json_object()};

	encoder.failed = !encoder.object;
	return encoder;
}

json_t *vbd_encode_end(struct vbd_encoder *encoder)
{
	json_t *object = encoder->object;

	encoder->object = NULL;
	if (!encoder->failed)
		return object;
	json_decref(object);
	return NULL;
}

void vbd_put(struct vbd_encoder *encoder, const char *name, json_t *value)
{
	/* This call steals the reference even if it fails. */
	if (json_object_set_new_nocheck(encoder->object, name, value) < 0)
		encoder->failed = true;
}

void vbd_put_text(struct vbd_encoder *encoder, const char *name, const char *text)
{
	vbd_put(encoder, name, vbd_json_text(text));
}

void vbd_put_text_or_null(struct vbd_encoder *encoder, const char *name, const char *text)
{
	vbd_put(encoder, name, vbd_json_text(*text ? text : NULL));
}

void vbd_put_u64(struct vbd_encoder *encoder, const char *name, uint64_t value)
{
	vbd_put(encoder, name, json_integer((json_int_t)value));
}

void vbd_put_i64(struct vbd_encoder *encoder, const char *name, int64_t value)
{
	vbd_put(encoder, name, json_integer(value));
}

void vbd_put_null(struct vbd_encoder *encoder, const char *name)
{
	vbd_put(encoder, name, json_null());
}

void vbd_put_u64_or_null(struct vbd_encoder *encoder, const char *name, bool known, uint64_t value)
{
	vbd_put(encoder, name, known ? json_integer((json_int_t)value) : json_null());
}

void vbd_put_hex(struct vbd_encoder *encoder, const char *name, uint64_t value, int digits)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "0x%0*" PRIx64, digits, value);
	vbd_put(encoder, name, json_string_nocheck(text));
}

void vbd_put_time(struct vbd_encoder *encoder, const char *name, uint64_t mono_ns)
{
	char text[VBD_TIME_TEXT_BYTES];

	vbd_put(encoder, name,
		mono_ns ? json_string_nocheck(vbd_clock_format(mono_ns, text)) : json_null());
}

json_t *vbd_encode_labels(const struct vbd_labels *labels)
{
	json_t *json = json_object();

	for (size_t i = 0; labels && i < labels->count; i++)
		(void)json_object_set_new(
			json, labels->items[i].key, vbd_json_text(labels->items[i].value));
	return json;
}

void vbd_put_owner(struct vbd_encoder *encoder, const struct vbd_object *object)
{
	vbd_put_text(encoder, "owner", object->owner ? object->owner->name : NULL);
}

void vbd_put_object(struct vbd_encoder *encoder, const struct vbd_object *object)
{
	vbd_put_u64(encoder, "id", object->id);
	vbd_put_text_or_null(encoder, "name", object->name);
	vbd_put_owner(encoder, object);
	vbd_put(encoder, "labels", vbd_encode_labels(object->labels));
}

void vbd_put_address(
	struct vbd_encoder *encoder, const char *name, const struct sockaddr_storage *address)
{
	char text[VBD_ADDR_TEXT_BYTES];

	vbd_put_text_or_null(encoder, name, vbd_addr_format(address, text));
}

const char *vbd_gid_text(const uint8_t raw[16], char text[VBD_GID_TEXT_BYTES])
{
	return inet_ntop(AF_INET6, raw, text, VBD_GID_TEXT_BYTES);
}
