/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void vbd_reply_add_header(struct vbd_reply *reply, const char *name, const char *value)
{
	struct vbd_reply_header *header;

	if (reply->n_headers == VBD_REPLY_HEADERS_MAX)
		return;
	header = &reply->headers[reply->n_headers++];
	header->name = name;
	(void)snprintf(header->value, sizeof(header->value), "%s", value);
}

const char *vbd_reply_find_header(const struct vbd_reply *reply, const char *name)
{
	for (size_t i = 0; i < reply->n_headers; i++) {
		if (strcmp(reply->headers[i].name, name) == 0)
			return reply->headers[i].value;
	}
	return NULL;
}

void vbd_reply_fini(struct vbd_reply *reply)
{
	free(reply->body);
	free(reply->public_body);
	if (reply->reader.free)
		reply->reader.free(reply->reader.arg);
	if (reply->feed.free)
		reply->feed.free(reply->feed.arg);
	*reply = (struct vbd_reply){0};
}
