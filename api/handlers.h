/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handlers, one file for each resource, and what they share. Their table is api/routes.c.
 *
 * Control thread. A handler runs with the whole request there, role and parameters' names checked.
 */
#ifndef VBD_API_HANDLERS_H
#define VBD_API_HANDLERS_H

#include "api/decode.h"
#include "api/page.h"
#include "api/request.h"
#include "api/router.h"
#include "daemon/daemon.h"
#include "daemon/inbox.h"
#include "rdma/conn.h"

struct vbd_server;

/* What req->context points to. */
struct vbd_api {
	struct vbd_daemon *daemon;
	struct vbd_server *server;
	struct vbd_router router;
	uint64_t refused_told_ns; /* when a refusal last went to the event log */
	uint64_t refused_untold;  /* refusals since */
	const char *allowed_hosts[VBD_ALLOWED_HOSTS_MAX];
};

static inline struct vbd_daemon *vbd_request_daemon(const struct vbd_request *req)
{
	return ((const struct vbd_api *)req->context)->daemon;
}

/* What api/handlers_*.c share. */

/** vbd_request_knows_tag - is @etag (quoted, weak or not) among If-None-Match? */
bool vbd_request_knows_tag(struct vbd_request *req, const char *etag);

/** vbd_ref_text - an object's reference as the services take it; returns @buf or the name itself */
#define VBD_REF_TEXT_BYTES 24
const char *vbd_ref_text(const struct vbd_json_ref *ref, char buf[VBD_REF_TEXT_BYTES]);

/* For lists of what is in a registry (api/page.h), which is what is listed; the items are struct
 * vbd_object. */
void vbd_walk_registry(void *registry, vbd_page_visit_cb visit, void *visitor);
uint64_t vbd_object_id(const void *item);
int vbd_object_compare_name(const void *a, const void *b);

/** vbd_blame - name the member of the request that an error of a service is about */
void vbd_blame(struct vbd_error *err, const char *pointer);

/** vbd_copy_text - copy text that the decoder has found short enough */
void vbd_copy_text(char *to, size_t to_bytes, const char *text);

/* Of enum vbd_mem_access, by bit. */
#define VBD_ACCESS_NAME_COUNT 4
extern const char *const vbd_access_names[VBD_ACCESS_NAME_COUNT];
json_t *vbd_encode_access(unsigned int access);

/** vbd_encode_error - ObjectError: code, text, hint; null for VBD_OK */
json_t *vbd_encode_error(const struct vbd_error *err);

/*
 * QpParams of openapi.yaml. A struct with one of these, and `service` beside it, is decoded with
 * VBD_QP_FIELDS.
 */
struct vbd_qp_input {
	struct vbd_conn_params params;
	struct vbd_json_ref pd, cq, srq;
	bool service_seen;
	bool pd_seen, cq_seen, srq_seen, rq_depth_seen, recv_size_seen;
};
extern const struct vbd_field vbd_qp_fields[];

/* The members `qp` and `service` of a struct that has `struct vbd_qp_input qp`, `enum vbd_service
 * service` and `bool service_seen`. */
#define VBD_QP_FIELDS(type_)                                                             \
	{.name = "qp",                                                                   \
		.type = VBD_FIELD_OBJECT,                                                \
		VBD_FIELD_AT(type_, qp),                                                 \
		.fields = vbd_qp_fields,                                                 \
		.n_fields = VBD_QP_FIELD_COUNT},                                         \
	{                                                                                \
		.name = "service", .type = VBD_FIELD_ENUM, VBD_FIELD_AT(type_, service), \
		.names = vbd_service_names, .n_names = VBD_SERVICE_COUNT,                \
		VBD_FIELD_SEEN(type_, service_seen)                                      \
	}
#define VBD_QP_FIELD_COUNT 18
extern const char *const vbd_service_names[VBD_SERVICE_COUNT];

/** vbd_qp_input_default - nothing was asked for */
struct vbd_qp_input vbd_qp_input_default(void);

/** vbd_qp_input_merge - `service` is short for `qp.service`; refused when they differ, when
 * path_mtu_bytes is no MTU, or signal_every is more than the queue holds */
enum vbd_status vbd_qp_input_merge(struct vbd_qp_input *qp, bool service_seen,
	enum vbd_service service, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_qp_input_resources - the ids of the PD, CQ and SRQ that are named; not_found, bad_value or
 * pd_mismatch otherwise */
enum vbd_status vbd_qp_input_resources(
	struct vbd_daemon *daemon, struct vbd_qp_input *qp, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_encode_params - QpParamsFull */
json_t *vbd_encode_params(const struct vbd_conn_params *params);

/* How a connection comes up. */
enum vbd_bringup { VBD_BRINGUP_CM, VBD_BRINGUP_MANUAL, VBD_BRINGUP_COUNT };
#define VBD_CONNECTION_TRANSPORT_COUNT 2
extern const char *const vbd_bringup_names[VBD_BRINGUP_COUNT];
extern const char *const vbd_connection_transport_names[VBD_CONNECTION_TRANSPORT_COUNT];

/* The members `bringup` and `transport` of a struct that has `enum vbd_bringup bringup` and `enum
 * vbd_qp_transport transport`. */
#define VBD_BRINGUP_FIELDS(type_)                                                                  \
	{.name = "bringup",                                                                        \
		.type = VBD_FIELD_ENUM,                                                            \
		VBD_FIELD_AT(type_, bringup),                                                      \
		.names = vbd_bringup_names,                                                        \
		.n_names = VBD_BRINGUP_COUNT},                                                     \
	{                                                                                          \
		.name = "transport", .type = VBD_FIELD_ENUM, VBD_FIELD_AT(type_, transport),       \
		.names = vbd_connection_transport_names, .n_names = VBD_CONNECTION_TRANSPORT_COUNT \
	}

/** vbd_manual_asked_for - does the body say `bringup: manual`? Such a body has members of its own
 */
bool vbd_manual_asked_for(const struct vbd_request *req);

/** vbd_manual_refuse_members - bad_value if the body has a member that only a manual bring-up has
 */
enum vbd_status vbd_manual_refuse_members(
	const struct vbd_request *req, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_create_manual_connection - POST /v1/connections with `bringup: manual` */
void vbd_create_manual_connection(struct vbd_request *req);

/** vbd_encode_connection - Connection; with its timeline unless it is one of a list */
struct vbd_connection;
json_t *vbd_encode_connection(
	const struct vbd_connection *connection, enum vbd_role role, bool with_timeline);

/* `remote` of a request: memory of the peer. */
struct vbd_remote_input {
	uint64_t addr;
	uint32_t rkey;
};
#define VBD_REMOTE_FIELDS 2
extern const struct vbd_field vbd_remote_fields[VBD_REMOTE_FIELDS];

/** vbd_encode_latency - Latency; null of none */
struct vbd_histogram;
json_t *vbd_encode_latency(const struct vbd_histogram *times_ns);

/** vbd_encode_benchmark - Benchmark */
struct vbd_benchmark;
json_t *vbd_encode_benchmark(const struct vbd_benchmark *benchmark);

/** vbd_encode_probe - Probe */
struct vbd_probe_record;
json_t *vbd_encode_probe(const struct vbd_probe_record *record);

/** vbd_encode_rtt - ConnectionRtt: of the probe that runs over it, or of its last one; else null */
json_t *vbd_encode_rtt(const struct vbd_connection *connection);

/** vbd_encode_event - Event */
struct vbd_event;
json_t *vbd_encode_event(const struct vbd_event *event);

/** vbd_parse_event_filter - from the parameters type, object and severity */
struct vbd_event_filter;
enum vbd_status vbd_parse_event_filter(const struct vbd_request *req,
	struct vbd_event_filter *filter, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_encode_gid - Gid */
struct vbd_gid;
json_t *vbd_encode_gid(const struct vbd_gid *gid);

/** vbd_encode_why - Why */
struct vbd_why;
json_t *vbd_encode_why(const struct vbd_why *why);

/** vbd_encode_timeline_entry - TimelineEntry; @start_ns: when the connection was made */
struct vbd_timeline_entry;
json_t *vbd_encode_timeline_entry(const struct vbd_timeline_entry *entry, uint64_t start_ns);

/** vbd_encode_explanation - ConnectionExplanation */
struct vbd_connection;
struct vbd_explanation;
json_t *vbd_encode_explanation(
	const struct vbd_connection *connection, const struct vbd_explanation *explanation);

/** vbd_encode_destination - DestinationExplanation; @host, @port (0: none): as asked for */
struct vbd_destination;
json_t *vbd_encode_destination(const char *host, uint64_t port,
	const struct vbd_destination *destination, const struct vbd_explanation *explanation);

/** vbd_put_received - `op`, `length_bytes`, `written_bytes` and `imm` of a message */
struct vbd_encoder;
struct vbd_received;
void vbd_put_received(struct vbd_encoder *out, const struct vbd_received *received);
/** vbd_encode_op_counters - OpCounters */
json_t *vbd_encode_op_counters(const struct vbd_op_counters *counters);

/** vbd_encode_first_error - FirstError; null if there was none */
json_t *vbd_encode_first_error(const struct vbd_first_error *first);

/** vbd_encode_end_reason - End; null for VBD_REASON_NONE */
json_t *vbd_encode_end_reason(enum vbd_reason reason);

/** vbd_encode_endpoint - UdEndpoint */
struct vbd_endpoint_record;
json_t *vbd_encode_endpoint(const struct vbd_endpoint_record *record, enum vbd_role role);

/*
 * The inbox of a connection or an endpoint, for GET of its messages. The strings are static.
 */
struct vbd_inbox_view {
	const struct vbd_inbox *inbox;
	struct vbd_link *watches;
	/* Will no more messages come? */
	bool (*over)(const void *owner);
	const void *owner;
	const char *kind; /* "connection" */
};

/** vbd_reply_inbox - answer a GET of messages; waits for news if the request wants that */
void vbd_reply_inbox(struct vbd_request *req, const struct vbd_inbox_view *view);

/** vbd_query_through - the parameter of a DELETE of messages */
enum vbd_status vbd_query_through(
	const struct vbd_request *req, uint64_t *ret_through, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_encode_transfer - Transfer */
struct vbd_transfer_record;
json_t *vbd_encode_transfer(const struct vbd_transfer_record *record);

/** vbd_transfer_answer - answer a POST that made a transfer: at its end, or when the wait is over
 */
void vbd_transfer_answer(struct vbd_request *req, struct vbd_transfer_record *record);

/* Where a datagram goes, as a request names it; NULL where it does not. */
struct vbd_destination_input {
	const struct vbd_json_ref *peer;
	const struct vbd_json_ref *group;
};

/** vbd_destination_resolve - fill the `peer` or `group` of @spec; not_found names the member */
struct vbd_transfer_spec;
enum vbd_status vbd_destination_resolve(struct vbd_daemon *daemon,
	const struct vbd_destination_input *input, struct vbd_transfer_spec *spec,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_transfer_decode - TransferCreate, with the objects that it names; not_found names the member
 */
struct vbd_transfer_spec;
enum vbd_status vbd_transfer_decode(struct vbd_daemon *daemon, const json_t *json,
	struct vbd_transfer_spec *ret_spec, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_create_transfers - TransferBatch: a list of transfers that are started together, or none */
void vbd_create_transfers(struct vbd_request *req);

void vbd_get_page(struct vbd_request *req);
void vbd_get_asset(struct vbd_request *req);

void vbd_get_livez(struct vbd_request *req);
void vbd_get_readyz(struct vbd_request *req);
void vbd_get_index(struct vbd_request *req);
void vbd_get_contract(struct vbd_request *req);
void vbd_get_stats(struct vbd_request *req);
void vbd_get_metrics(struct vbd_request *req);

void vbd_list_devices(struct vbd_request *req);
void vbd_get_device(struct vbd_request *req);

void vbd_list_pds(struct vbd_request *req);
void vbd_create_pd(struct vbd_request *req);
void vbd_get_pd(struct vbd_request *req);
void vbd_delete_pd(struct vbd_request *req);
void vbd_list_cqs(struct vbd_request *req);
void vbd_create_cq(struct vbd_request *req);
void vbd_get_cq(struct vbd_request *req);
void vbd_patch_cq(struct vbd_request *req);
void vbd_delete_cq(struct vbd_request *req);
void vbd_list_srqs(struct vbd_request *req);
void vbd_create_srq(struct vbd_request *req);
void vbd_get_srq(struct vbd_request *req);
void vbd_patch_srq(struct vbd_request *req);
void vbd_delete_srq(struct vbd_request *req);

void vbd_list_buffers(struct vbd_request *req);
void vbd_create_buffer(struct vbd_request *req);
void vbd_get_buffer(struct vbd_request *req);
void vbd_delete_buffer(struct vbd_request *req);
void vbd_get_buffer_data(struct vbd_request *req);
void vbd_open_buffer_data(struct vbd_request *req);
void vbd_put_buffer_data(struct vbd_request *req);
void vbd_get_buffer_checksum(struct vbd_request *req);

void vbd_list_listeners(struct vbd_request *req);
void vbd_create_listener(struct vbd_request *req);
void vbd_get_listener(struct vbd_request *req);
void vbd_patch_listener(struct vbd_request *req);
void vbd_delete_listener(struct vbd_request *req);

void vbd_list_connections(struct vbd_request *req);
void vbd_create_connection(struct vbd_request *req);
void vbd_get_connection(struct vbd_request *req);
void vbd_delete_connection(struct vbd_request *req);
void vbd_accept_connection(struct vbd_request *req);
void vbd_reject_connection(struct vbd_request *req);
void vbd_close_connection(struct vbd_request *req);
void vbd_set_remote(struct vbd_request *req);
void vbd_modify_connection(struct vbd_request *req);

void vbd_list_messages(struct vbd_request *req);
void vbd_send_message(struct vbd_request *req);
void vbd_delete_messages(struct vbd_request *req);

void vbd_list_endpoints(struct vbd_request *req);
void vbd_create_endpoint(struct vbd_request *req);
void vbd_get_endpoint(struct vbd_request *req);
void vbd_delete_endpoint(struct vbd_request *req);
void vbd_list_endpoint_messages(struct vbd_request *req);
void vbd_send_endpoint_message(struct vbd_request *req);
void vbd_delete_endpoint_messages(struct vbd_request *req);

void vbd_list_peers(struct vbd_request *req);
void vbd_create_peer(struct vbd_request *req);
void vbd_get_peer(struct vbd_request *req);
void vbd_delete_peer(struct vbd_request *req);

void vbd_list_groups(struct vbd_request *req);
void vbd_create_group(struct vbd_request *req);
void vbd_get_group(struct vbd_request *req);
void vbd_delete_group(struct vbd_request *req);

void vbd_list_transfers(struct vbd_request *req);
void vbd_create_transfer(struct vbd_request *req);
void vbd_get_transfer(struct vbd_request *req);
void vbd_delete_transfer(struct vbd_request *req);

void vbd_explain(struct vbd_request *req);
void vbd_explain_one(struct vbd_request *req);
void vbd_explain_way_to(struct vbd_request *req);

void vbd_list_benchmarks(struct vbd_request *req);
void vbd_create_benchmark(struct vbd_request *req);
void vbd_get_benchmark(struct vbd_request *req);
void vbd_delete_benchmark(struct vbd_request *req);

void vbd_list_probes(struct vbd_request *req);
void vbd_create_probe(struct vbd_request *req);
void vbd_get_probe(struct vbd_request *req);
void vbd_delete_probe(struct vbd_request *req);

void vbd_list_windows(struct vbd_request *req);
void vbd_create_window(struct vbd_request *req);
void vbd_get_window(struct vbd_request *req);
void vbd_delete_window(struct vbd_request *req);

void vbd_list_events(struct vbd_request *req);
void vbd_stream_events(struct vbd_request *req);

#endif
