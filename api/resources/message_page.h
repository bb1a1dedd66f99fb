/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page of the messages of an inbox.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_MESSAGE_PAGE_H
#define VBD_API_RESOURCES_MESSAGE_PAGE_H

#include "api/http/request.h"
#include "daemon/connections/inbox.h"

/* A page ends before the message with which its messages would have more bytes than these in all,
 * but has one message at least. */
#define VBD_MESSAGE_PAGE_BYTES UINT64_C(1048576)

/* The parameters of a GET of messages. */
struct vbd_message_query {
	uint64_t limit;	 /* messages */
	uint64_t after;	 /* the seq before the first one */
	size_t encoding; /* enum vbd_encoding */
};

/**
 * vbd_reply_message_page - answer with the messages of @inbox that @query asks for
 *
 * A page of few bytes is answered at once. The bytes of another one are copied, and encoded on the
 * thread pool.
 *
 * Returns true if the request is parked, and answered later.
 */
bool vbd_reply_message_page(struct vbd_request *req, const struct vbd_inbox *inbox,
	const struct vbd_message_query *query);

#endif
