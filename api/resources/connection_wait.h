/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the handlers of connections share: finding one, answering with it, waiting for it.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_CONNECTION_WAIT_H
#define VBD_API_RESOURCES_CONNECTION_WAIT_H

#include "api/http/request.h"

#include <stdbool.h>

struct vbd_connection;

/* What a client waits for. */
enum vbd_goal {
	VBD_GOAL_ESTABLISHED,
	VBD_GOAL_OPEN,	  /* manual: it has its QP */
	VBD_GOAL_STEPPED, /* manual: the step that was asked for is done */
	VBD_GOAL_ENDED,
	VBD_GOAL_FORGOTTEN,
};

/** vbd_request_connection - the connection that the path names; if there is none, answer and return
 * NULL */
struct vbd_connection *vbd_request_connection(struct vbd_request *req);

/** vbd_connection_reply - Connection, with its timeline */
void vbd_connection_reply(
	struct vbd_request *req, unsigned int status, const struct vbd_connection *connection);

/**
 * vbd_connection_wait - answer when @goal is reached, or with 202 when the client's wait is over
 * @reached_status: HTTP, for the goal
 * @location: say where the connection is
 */
void vbd_connection_wait(struct vbd_request *req, struct vbd_connection *connection,
	enum vbd_goal goal, unsigned int reached_status, bool location);

#endif
