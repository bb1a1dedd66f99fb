/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explanations of a name, a connection or a destination. NULL without memory.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_EXPLAIN_H
#define VBD_API_RESOURCES_EXPLAIN_H

#include <jansson.h>
#include <stdint.h>

struct vbd_connection;
struct vbd_destination;
struct vbd_explanation;
struct vbd_request;
struct vbd_why;

/** vbd_encode_why - schema Why */
json_t *vbd_encode_why(const struct vbd_why *why);

/** vbd_encode_explanation - schema ConnectionExplanation */
json_t *vbd_encode_explanation(
	const struct vbd_connection *connection, const struct vbd_explanation *explanation);

/** vbd_encode_destination - schema DestinationExplanation; @host, @port (0: none) as requested */
json_t *vbd_encode_destination(const char *host, uint64_t port,
	const struct vbd_destination *destination, const struct vbd_explanation *explanation);

void vbd_explain(struct vbd_request *req);
void vbd_explain_one(struct vbd_request *req);
void vbd_explain_route_to(struct vbd_request *req);

#endif
