/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections: their JSON, their commands and their messages.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_CONNECTIONS_H
#define VBD_API_RESOURCES_CONNECTIONS_H

#include "api/json/decode.h"
#include "rdma/device/op.h"

struct vbd_connection;
struct vbd_connection_spec;
struct vbd_daemon;
struct vbd_encoder;
struct vbd_request;
struct vbd_timeline_entry;

/* Established by the CM, or by steps of the client. */
enum vbd_bringup { VBD_BRINGUP_CM, VBD_BRINGUP_MANUAL, VBD_BRINGUP_COUNT };
#define VBD_QP_TYPE_COUNT 2
extern const char *const vbd_bringup_names[VBD_BRINGUP_COUNT];
extern const char *const vbd_qp_type_names[VBD_QP_TYPE_COUNT];

/* The members `bringup` and `qp_type` of a struct that has `enum vbd_bringup bringup` and `enum
 * vbd_qp_transport qp_type`. */
#define VBD_BRINGUP_FIELDS(type_)                                                        \
	{.name = "bringup",                                                              \
		.type = VBD_FIELD_ENUM,                                                  \
		VBD_FIELD_AT(type_, bringup),                                            \
		.names = vbd_bringup_names,                                              \
		.n_names = VBD_BRINGUP_COUNT},                                           \
	{                                                                                \
		.name = "qp_type", .type = VBD_FIELD_ENUM, VBD_FIELD_AT(type_, qp_type), \
		.names = vbd_qp_type_names, .n_names = VBD_QP_TYPE_COUNT                 \
	}

/** vbd_put_connection - put the members of schema Connection */
void vbd_put_connection(struct vbd_encoder *out, const struct vbd_connection *connection);

/** vbd_put_timeline_entry - put schema TimelineEntry; @start_ns: creation of the connection */
void vbd_put_timeline_entry(struct vbd_encoder *out, const char *name,
	const struct vbd_timeline_entry *entry, uint64_t start_ns);

/** vbd_manual_requested - true if the body has `bringup: manual` */
bool vbd_manual_requested(const json_t *json);

/** vbd_manual_refuse_members - bad_value if the body has a member for bring-up by hand only */
enum vbd_status vbd_manual_refuse_members(const json_t *json, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_create_manual_connection - POST /v1/connections with `bringup: manual` */
void vbd_create_manual_connection(struct vbd_request *req);

/**
 * vbd_connection_decode - a ConnectionCreate for the CM
 * @daemon:   NULL: do not look for the objects to which it refers
 * @json:     one that vbd_manual_requested() denies
 * @ret_spec: its `count` is 0
 * @kept:     the connection is to be kept: it has heartbeats by default
 * @faults:   see vbd_decode_all()
 */
enum vbd_status vbd_connection_decode(struct vbd_daemon *daemon, const json_t *json, bool kept,
	struct vbd_connection_spec *ret_spec, struct vbd_faults *faults,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
