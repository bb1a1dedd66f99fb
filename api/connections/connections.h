/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections: their JSON, and waiting for them.
 *
 * Control thread.
 */
#ifndef VBD_API_CONNECTIONS_CONNECTIONS_H
#define VBD_API_CONNECTIONS_CONNECTIONS_H

#include "api/json/decode.h"
#include "rdma/device/op.h"
#include "api/http/request.h"

struct vbd_connection;
struct vbd_connection_spec;
struct vbd_daemon;
struct vbd_destination;
struct vbd_encoder;
struct vbd_explanation;
struct vbd_gate_rules;
struct vbd_timeline_entry;

/* Established by the CM, or by steps of the client. */
enum vbd_bringup { VBD_BRINGUP_CM, VBD_BRINGUP_MANUAL, VBD_BRINGUP_COUNT };
#define VBD_QP_TYPE_COUNT 2
extern const char *const vbd_bringup_names[VBD_BRINGUP_COUNT];
extern const char *const vbd_qp_type_names[VBD_QP_TYPE_COUNT];

/** vbd_put_connection - put the members of schema Connection; @item: a struct vbd_connection */
void vbd_put_connection(struct vbd_encoder *out, const void *item);

/** vbd_put_timeline_entry - put schema TimelineEntry; @start_ns: creation of the connection */
void vbd_put_timeline_entry(struct vbd_encoder *out, const char *name,
	const struct vbd_timeline_entry *entry, uint64_t start_ns);

/** vbd_put_allow - put the member `allow`: networks as text */
void vbd_put_allow(struct vbd_encoder *out, const struct vbd_gate_rules *rules);

/** vbd_allow_decode - replace the networks of @rules by those of the array @allow; NULL: they stay
 */
enum vbd_status vbd_allow_decode(
	const json_t *allow, struct vbd_gate_rules *rules, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_manual_requested - true if the body has `bringup: manual` */
bool vbd_manual_requested(const json_t *json);

/**
 * vbd_connection_decode - a ConnectionCreate for the CM
 * @daemon:   NULL: do not look for the objects to which it refers
 * @origin:   of the connection
 * @json:     a body for which vbd_manual_requested() is false
 * @ret_spec: its `count` is 0
 * @kept:     the connection is to be kept: it has heartbeats by default
 * @faults:   see vbd_decode_all()
 */
enum vbd_status vbd_connection_decode(struct vbd_daemon *daemon, const struct vbd_origin *origin,
	const json_t *json, bool kept, struct vbd_connection_spec *ret_spec,
	struct vbd_faults *faults, struct vbd_error *err) VBD_MUST_CHECK;

/* The state of a connection that a client waits for. */
enum vbd_goal {
	VBD_GOAL_ESTABLISHED,
	VBD_GOAL_OPEN,	  /* bring-up by hand: the QP exists */
	VBD_GOAL_STEPPED, /* bring-up by hand: the requested step is done */
};

/** vbd_request_connection - as vbd_task_find(), for a connection */
struct vbd_connection *vbd_request_connection(struct vbd_request *req);

/**
 * vbd_connection_wait - answer when @goal is reached, or with 202 when the client's wait is over
 * @reached_status: HTTP status if the goal is reached; 201: with a Location header
 */
void vbd_connection_wait(struct vbd_request *req, struct vbd_connection *connection,
	enum vbd_goal goal, unsigned int reached_status);

/* Explanations of a connection, and of the way to a destination. */

/** vbd_put_explanation - put the members of schema ConnectionExplanation that @role may see */
void vbd_put_explanation(struct vbd_encoder *out, const struct vbd_connection *connection,
	const struct vbd_explanation *explanation, enum vbd_role role);

/** vbd_put_past_explanation - put `explanation`, as the read role may see it, if @connection has
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
