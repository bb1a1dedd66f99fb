/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json/encode.h"

#include "base/addr.h"
#include "daemon/core/caller.h"
#include "daemon/core/labels.h"

#include <arpa/inet.h>

void vbd_put_labels(struct vbd_encoder *out, const struct vbd_labels *labels)
{
	vbd_begin_object(out, "labels");
	for (size_t i = 0; labels && i < labels->count; i++)
		vbd_put_text(out, labels->items[i].key, labels->items[i].value);
	vbd_end(out);
}

void vbd_put_owner(struct vbd_encoder *out, const struct vbd_object *object)
{
	vbd_put_text(out, "owner", object->owner ? object->owner->name : NULL);
}

void vbd_put_object(struct vbd_encoder *out, const struct vbd_object *object)
{
	vbd_put_u64(out, "id", object->id);
	vbd_put_text_or_null(out, "name", object->name);
	vbd_put_owner(out, object);
	vbd_put_labels(out, object->labels);
}

void vbd_put_address(
	struct vbd_encoder *out, const char *name, const struct sockaddr_storage *address)
{
	char text[VBD_ADDR_TEXT_BYTES];

	vbd_put_text_or_null(out, name, vbd_addr_format(address, text));
}

const char *vbd_gid_text(const uint8_t raw[16], char text[VBD_GID_TEXT_BYTES])
{
	return inet_ntop(AF_INET6, raw, text, VBD_GID_TEXT_BYTES);
}
