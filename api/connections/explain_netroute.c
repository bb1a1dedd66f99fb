/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explanations of a connection, and of a destination before one connects. Both look up the kernel's
 * route to an address first, and the request waits for that.
 */
#include "api/connections/connections.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/core/task.h"
#include "api/http/view.h"
#include "api/http/waiter.h"
#include "api/json/decode.h"
#include "api/json/writer.h"
#include "base/addr.h"
#include "daemon/observe/explain.h"

/* The kernel gives a route and counters within this time, unless it is just being configured. */
#define KEEPING_MS 3000

/* A transfer that has done no byte more after this time makes no progress. */
#define PROGRESS_MS 300

/* A request that waits for a name lookup or a route lookup. */
struct asking {
	struct vbd_request *req; /* NULL: the client has left */
	struct vbd_resolution *resolution;
	bool looking; /* vbd_look_begin() or vbd_look_at_route() will call back */
	uint64_t connection;
	uint64_t created_ns;	       /* of the connection that is looked at */
	uint64_t transfer, done_bytes; /* watched for progress; 0: none */
	char host[256];
	uint64_t port; /* 0: none */
	struct vbd_destination destination;
	struct sockaddr_storage src; /* as requested */
	struct vbd_addrs addrs;
	size_t at;  /* of `addrs` */
	bool again; /* none of `addrs` is ready: the first one is explained */
};

static void on_client_gone(struct vbd_request *req, void *arg)
{
	struct asking *asking = arg;

	(void)req;
	asking->req = NULL;
	/* The callback of a look frees @asking; a cancelled name lookup has no callback. */
	if (asking->looking)
		return;
	if (asking->resolution)
		vbd_resolve_cancel(asking->resolution);
	free(asking);
}

static void refuse_and_free(struct asking *asking, const struct vbd_error *err)
{
	vbd_reply_problem(asking->req, err);
	free(asking);
}

/* --- a connection ---------------------------------------------------------------------------- */

static void on_connection_looked_at(const struct vbd_look *look, void *arg);

static void begin_look(struct asking *asking)
{
	struct vbd_request *req = asking->req;
	struct vbd_error err = {0};
	struct vbd_object *object =
		vbd_registry_find_id(vbd_request_daemon(req)->connections, asking->connection);

	if (!object)
		(void)vbd_error_set(&err, VBD_E_NOT_FOUND, "the connection was deleted");
	else if (vbd_request_park(req, 0, NULL, on_client_gone, asking, &err) == VBD_OK &&
		 vbd_look_begin((const struct vbd_connection *)(const void *)object,
			 on_connection_looked_at, asking, &err) == VBD_OK) {
		asking->created_ns = object->created_ns;
		asking->looking = true;
		return;
	}
	refuse_and_free(asking, &err);
}

static void explain_conn(struct vbd_request *req, const struct vbd_connection *connection,
	const struct vbd_look *look)
{
	struct vbd_encoder out = vbd_encode_begin();
	struct vbd_explanation explanation;
	enum vbd_role role = vbd_view_role(req, &connection->object);

	vbd_conn_refresh_qp(connection->conn);
	vbd_explain_connection(connection, look, req->caller, role, &explanation);
	vbd_put_explanation(&out, connection, &explanation, role);
	vbd_reply_json(req, 200, &out);
}

static void on_connection_looked_at(const struct vbd_look *look, void *arg)
{
	struct asking *asking = arg;
	struct vbd_look watched = *look;
	const struct vbd_object *object;

	asking->looking = false;
	if (!asking->req) {
		free(asking);
		return;
	}
	object = vbd_registry_find_id(
		vbd_request_daemon(asking->req)->connections, asking->connection);
	/* The look was at an earlier connection, which had the same id. */
	if (!object || object->created_ns != asking->created_ns) {
		begin_look(asking);
		return;
	}
	watched.transfer = asking->transfer;
	watched.transfer_done = asking->done_bytes;
	explain_conn(asking->req, (const struct vbd_connection *)(const void *)object, &watched);
	free(asking);
}

static void on_transfer_watched(struct vbd_request *req, void *arg)
{
	(void)req;
	begin_look(arg);
}

static void look_at_connection(struct vbd_request *req, const struct vbd_connection *connection)
{
	struct asking *asking = calloc(1, sizeof(*asking));
	struct vbd_error err = {0};

	if (!asking) {
		(void)vbd_error_set(&err, VBD_E_NO_MEMORY, "no memory for the explanation");
		vbd_reply_problem(req, &err);
		return;
	}
	asking->req = req;
	asking->connection = connection->object.id;
	if (!vbd_explain_running(connection, &asking->transfer, &asking->done_bytes)) {
		asking->transfer = 0;
		begin_look(asking);
	} else if (vbd_request_park(req, PROGRESS_MS, on_transfer_watched, on_client_gone, asking,
			   &err) != VBD_OK) {
		refuse_and_free(asking, &err);
	}
}

/* An explanation that waits until the facts about the first error are stored. */
struct explaining {
	struct vbd_waiter waiter; /* first */
	struct vbd_connection *connection;
};

static void on_facts_kept(struct vbd_waiter *waiter, enum vbd_wake why)
{
	const struct vbd_connection *connection = ((struct explaining *)waiter)->connection;
	struct vbd_error gone = {0};

	if (why == VBD_WAKE_OBJECT_GONE) {
		(void)vbd_error_set(&gone, VBD_E_NOT_FOUND, "the connection was deleted");
		vbd_reply_problem(waiter->req, &gone);
	} else if (why == VBD_WAKE_TIMEOUT || !connection->keeping) {
		waiter->handed_on = true;
		look_at_connection(waiter->req, connection);
	}
}

void vbd_explain_one(struct vbd_request *req)
{
	const struct vbd_record *record = vbd_record_of_path(req, VBD_KIND_CONNECTION);
	struct vbd_connection *connection = record ? NULL : vbd_request_connection(req);
	struct explaining explaining = {.waiter.answer = on_facts_kept, .connection = connection};

	if (record)
		vbd_explain_record(req, record);
	if (!connection)
		return;
	vbd_waiter_run(&explaining.waiter, sizeof(explaining), req, &connection->object.watches,
		KEEPING_MS);
}

/* --- a destination --------------------------------------------------------------------------- */

static void look_up_route(struct asking *asking);

/* A connection tries each address of a name. So the first reachable address is explained; if none
 * is, the first of all. */
static bool try_next_addr(struct asking *asking)
{
	if (asking->again || asking->addrs.count < 2)
		return false;
	asking->at = (asking->at + 1) % asking->addrs.count;
	asking->again = asking->at == 0;
	look_up_route(asking);
	return true;
}

static void on_route_found(const struct vbd_look *look, void *arg)
{
	struct asking *asking = arg;
	struct vbd_explanation explanation;
	struct vbd_encoder out;

	asking->looking = false;
	if (!asking->req) {
		free(asking);
		return;
	}
	if (!look->netroute_known) {
		refuse_and_free(asking, &look->err);
		return;
	}
	vbd_explain_destination(vbd_request_daemon(asking->req), &asking->destination,
		&look->netroute, &explanation);
	if (vbd_verdicts_bad(&explanation.verdicts) && try_next_addr(asking))
		return;
	out = vbd_encode_begin();
	vbd_put_reachability(&out, asking->host, asking->port, &asking->destination, &explanation);
	vbd_reply_json(asking->req, 200, &out);
	free(asking);
}

static void look_up_route(struct asking *asking)
{
	struct vbd_destination *destination = &asking->destination;
	struct vbd_daemon *daemon = vbd_request_daemon(asking->req);
	struct vbd_error err = {0};

	destination->addr = asking->addrs.items[asking->at];
	destination->src = asking->src;
	asking->looking = vbd_destination_choose(daemon, destination, &err) == VBD_OK &&
			  vbd_look_at_route(daemon, asking->req->caller, &destination->addr,
				  &destination->src, on_route_found, asking, &err) == VBD_OK;
	if (!asking->looking && !try_next_addr(asking))
		refuse_and_free(asking, &err);
}

static void on_host_resolved(const struct vbd_addrs *addrs, const struct vbd_error *err, void *arg)
{
	struct asking *asking = arg;

	asking->resolution = NULL;
	if (!addrs) {
		refuse_and_free(asking, err);
		return;
	}
	asking->addrs = *addrs;
	look_up_route(asking);
}

static enum vbd_status parse_destination(
	const struct vbd_request *req, struct asking *asking, struct vbd_error *err)
{
	const char *host = NULL;
	const char *device = NULL;
	const char *src = NULL;
	enum vbd_status status =
		vbd_query_text(req, "dst_addr", sizeof(asking->host) - 1, &host, err);

	if (!status)
		status = vbd_query_text(
			req, "device", sizeof(asking->destination.device) - 1, &device, err);
	if (!status)
		status = vbd_query_text(req, "src_addr", 255, &src, err);
	if (!status)
		status = vbd_query_u64(req, "dst_port", 1, 65535, &asking->port, err);
	if (!status && src)
		status = vbd_addr_parse_own(src, 0, "src_addr", &asking->src, err);
	if (!status && !host)
		status = vbd_error_input(
			err, VBD_E_MISSING_FIELD, "dst_addr", "dst_addr is required");
	if (status)
		return status;
	vbd_copy_text(asking->host, sizeof(asking->host), host);
	return vbd_member_device(vbd_request_daemon(req), &(struct vbd_json_ref){.name = device},
		asking->destination.device, sizeof(asking->destination.device), err);
}

/* A lookup of a name keeps a thread of the pool until the resolver gives up, also when its client
 * has left. So a client that may only look does not start one. */
static enum vbd_status parse_host(const struct vbd_request *req, const struct asking *asking,
	struct sockaddr_storage *ret_addr, bool *ret_numeric, struct vbd_error *err)
{
	/* The route does not depend on the port; the parser needs a valid one. */
	enum vbd_status status = vbd_addr_read_host(asking->host, 1, "dst_addr", ret_addr, err);

	if (status)
		return status;
	*ret_numeric = ret_addr->ss_family != 0;
	if (*ret_numeric || req->role >= VBD_ROLE_OPERATE)
		return VBD_OK;
	return vbd_error_set(err, VBD_E_FORBIDDEN,
		"the %s role asks for numeric addresses; to look up the name '%.64s' needs the "
		"%s role",
		vbd_role_name(req->role), asking->host, vbd_role_name(VBD_ROLE_OPERATE));
}

void vbd_get_reachability(struct vbd_request *req)
{
	struct asking *asking = calloc(1, sizeof(*asking));
	struct vbd_error err = {0};
	bool numeric = false;

	if (!asking)
		(void)vbd_error_set(&req->err, VBD_E_NO_MEMORY, "no memory for the explanation");
	if (!asking || parse_destination(req, asking, &req->err) != VBD_OK ||
		parse_host(req, asking, &asking->addrs.items[0], &numeric, &req->err) != VBD_OK ||
		vbd_request_park(req, 0, NULL, on_client_gone, asking, &req->err) != VBD_OK) {
		free(asking);
		return;
	}
	asking->req = req;
	if (numeric)
		look_up_route(asking);
	else if (vbd_resolve(vbd_request_daemon(req)->loop, req->caller, asking->host, 1,
			 (int)asking->src.ss_family, on_host_resolved, asking, &asking->resolution,
			 &err) != VBD_OK)
		refuse_and_free(asking, &err);
}
