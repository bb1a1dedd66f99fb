/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions for handlers of connections: find a connection, answer with it, wait for its state.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_CONNECTION_WAIT_H
#define VBD_API_RESOURCES_CONNECTION_WAIT_H

#include "api/http/request.h"

#include <stdbool.h>

struct vbd_connection;

/* The state of a connection that a client waits for. */
enum vbd_goal {
	VBD_GOAL_ESTABLISHED,
	VBD_GOAL_OPEN,	  /* bring-up by hand: the QP exists */
	VBD_GOAL_STEPPED, /* bring-up by hand: the requested step is done */
	VBD_GOAL_ENDED,
	VBD_GOAL_DELETED,
};

/** vbd_request_connection - the connection of the path; if there is none, answer and return NULL */
struct vbd_connection *vbd_request_connection(struct vbd_request *req);

/** vbd_connection_reply - answer with a connection */
void vbd_connection_reply(
	struct vbd_request *req, unsigned int status, const struct vbd_connection *connection);

/**
 * vbd_connection_wait - answer when @goal is reached, or with 202 when the client's wait is over
 * @reached_status: HTTP status if the goal is reached
 * @location: add a Location header
 */
void vbd_connection_wait(struct vbd_request *req, struct vbd_connection *connection,
	enum vbd_goal goal, unsigned int reached_status, bool location);

#endif
