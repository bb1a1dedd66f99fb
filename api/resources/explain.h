/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explanations of a connection, and of the way to a destination.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_EXPLAIN_H
#define VBD_API_RESOURCES_EXPLAIN_H

#include "daemon/config/callers.h"

struct vbd_connection;
struct vbd_destination;
struct vbd_encoder;
struct vbd_explanation;
struct vbd_record;
struct vbd_request;

/** vbd_put_explanation - put the members of schema ConnectionExplanation that @role may see */
void vbd_put_explanation(struct vbd_encoder *out, const struct vbd_connection *connection,
	const struct vbd_explanation *explanation, enum vbd_role role);

/** vbd_put_past_explanation - put `explanation`, as the role read may see it, if @connection has
 * failed: for its row in state_dir */
void vbd_put_past_explanation(struct vbd_encoder *out, const void *connection);

/** vbd_explain_record - answer with the explanation of a connection of an earlier run: as it was
 * then, or its end if it had none */
void vbd_explain_record(struct vbd_request *req, const struct vbd_record *record);

/** vbd_put_reachability - put the members of schema Reachability; @dst_addr, @dst_port (0: none) as
 * requested */
void vbd_put_reachability(struct vbd_encoder *out, const char *dst_addr, uint64_t dst_port,
	const struct vbd_destination *destination, const struct vbd_explanation *explanation);

#endif
