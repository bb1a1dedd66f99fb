/* SPDX-License-Identifier: Apache-2.0 */
/* Copies as objects, and the handshake of client and server, from the connection to START. */
#include "daemon/copies/copy.h"

#include "base/clock.h"
#include "daemon/copies/copy_parts.h"
#include "rdma/conn/conn.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

/* A server gives a client this time to prove itself. */
#define HANDSHAKE_MS 30000

/* A client gives up after this time without a connection. */
#define CONNECT_MS 10000

static struct vbd_copy *copy_of(struct vbd_object *object)
{
	return VBD_CONTAINER_OF(object, struct vbd_copy, object);
}

/* --- HELLO and CHALLENGE --------------------------------------------------------------------- */

static bool make_nonce(struct vbd_copy_session *session)
{
	if (gnutls_rnd(GNUTLS_RND_NONCE, session->nonce, sizeof(session->nonce)) == 0)
		return true;
	vbd_copy_fail(session, VBD_COPY_FAULT_NO_RESOURCES, "gnutls_rnd failed");
	return false;
}

static bool keep_hello(struct vbd_copy_session *session, const uint8_t *bytes, uint32_t len_bytes)
{
	session->hello = malloc(len_bytes);
	if (!session->hello) {
		vbd_copy_fail(session, VBD_COPY_FAULT_NO_RESOURCES, "no memory for a copy");
		return false;
	}
	memcpy(session->hello, bytes, len_bytes);
	session->hello_bytes = len_bytes;
	return true;
}

static void send_hello(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	const struct vbd_copy *copy = session->copy;
	struct vbd_copy_out *out;
	struct vbd_copy_message hello = {
		.type = VBD_COPY_MSG_HELLO,
		.hello = {.version_min = VBD_COPY_VERSION,
			.version_max = VBD_COPY_VERSION,
			.pull = !copy->sends,
			.options = copy->options,
			.overwrite = copy->overwrite,
			.path = (const uint8_t *)copy->peer_path,
			.path_bytes = (uint32_t)strlen(copy->peer_path)},
	};
	uint32_t len_bytes;

	(void)message;
	if (!make_nonce(session))
		return;
	memcpy(hello.hello.nonce, session->nonce, sizeof(session->nonce));
	(void)snprintf(hello.hello.export, sizeof(hello.hello.export), "%s", copy->peer_export);
	out = vbd_copy_message(session, hello.type);
	if (!out) {
		vbd_copy_fail(session, VBD_COPY_FAULT_NO_RESOURCES, "no memory for a message");
		return;
	}
	len_bytes = vbd_copy_encode(out->range.addr, &hello);
	if (keep_hello(session, out->range.addr, len_bytes))
		vbd_copy_post(out, len_bytes);
}

static void release_export(struct vbd_copy_session *session)
{
	struct vbd_export *export = session->export;

	session->export = NULL;
	if (export && --export->users == 0)
		vbd_object_settle(&export->object);
}

static void use_export(struct vbd_copy_session *session, struct vbd_export *export)
{
	struct vbd_copy *copy = session->copy;
	uint64_t number = copy->object.id;

	session->export = export;
	export->users++;
	copy->export_id = export->object.id;
	(void)snprintf(copy->export_name, sizeof(copy->export_name), "%s", export->object.name);
	session->root = vbd_export_root(export, copy->path);
	session->root.options = copy->options;
	session->root.overwrite = copy->overwrite;
	(void)gnutls_rnd(GNUTLS_RND_NONCE, &number, sizeof(number));
	vbd_copy_part_suffix(number, session->root.part_suffix);
}

/* The server: note what the client wants. A client that may not have the export hears of that after
 * its proof only, and not why. */
static bool take_hello(struct vbd_copy_session *session, const struct vbd_copy_hello *hello)
{
	struct vbd_copy *copy = session->copy;
	const struct sockaddr *peer = (const struct sockaddr *)&session->connection->conn->peer;
	struct vbd_export *export;

	copy->path = strndup((const char *)hello->path, hello->path_bytes);
	if (!copy->path) {
		vbd_copy_fail(session, VBD_COPY_FAULT_NO_RESOURCES, "no memory for a copy");
		return false;
	}
	copy->sends = hello->pull;
	copy->options = hello->options;
	copy->overwrite = hello->overwrite;
	(void)snprintf(copy->export_name, sizeof(copy->export_name), "%s", hello->export);
	export = vbd_export_for_peer(session->daemon, hello->export, peer,
		hello->pull ? VBD_EXPORT_READ : VBD_EXPORT_WRITE);
	if (export)
		use_export(session, export);
	session->prove = !export || export->secret_bytes;
	return true;
}

static void answer_hello(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	struct vbd_copy_message challenge = {
		.type = VBD_COPY_MSG_CHALLENGE, .challenge.version = VBD_COPY_VERSION};

	if (message->hello.version_min > VBD_COPY_VERSION ||
		message->hello.version_max < VBD_COPY_VERSION) {
		vbd_copy_fail(session, VBD_COPY_FAULT_PROTOCOL,
			"this verbsd speaks version %d of the protocol", VBD_COPY_VERSION);
		return;
	}
	if (message->hello.options & VBD_COPY_VERIFY_SHA256) {
		vbd_copy_fail(
			session, VBD_COPY_FAULT_PROTOCOL, "this verbsd does not verify by SHA-256");
		return;
	}
	if (!take_hello(session, &message->hello) || !make_nonce(session) ||
		!keep_hello(session, session->came.bytes, session->came.len_bytes))
		return;
	challenge.challenge.needs_proof = session->prove;
	memcpy(challenge.challenge.nonce, session->nonce, sizeof(session->nonce));
	vbd_copy_send(session, &challenge);
}

/* --- the proofs ------------------------------------------------------------------------------ */

/* The proof of one side, zeros if none is needed; false: the copy has failed. */
static bool compute_proof(
	struct vbd_copy_session *session, bool server, uint8_t proof[VBD_COPY_MAC_BYTES])
{
	const struct vbd_export *export = session->export;
	struct vbd_error error = {0};

	memset(proof, 0, VBD_COPY_MAC_BYTES);
	if (!session->prove ||
		vbd_copy_mac(export->secret, export->secret_bytes, server, session->hello,
			session->hello_bytes, session->nonce, proof, &error) == VBD_OK)
		return true;
	vbd_copy_fail(session, VBD_COPY_FAULT_NO_RESOURCES, "%s", error.text);
	return false;
}

static bool check_proof_of(
	struct vbd_copy_session *session, bool server, const uint8_t mac[VBD_COPY_MAC_BYTES])
{
	uint8_t wanted[VBD_COPY_MAC_BYTES];

	return compute_proof(session, server, wanted) && vbd_copy_mac_equal(wanted, mac);
}

static void prove(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	struct vbd_copy_message proof = {.type = VBD_COPY_MSG_PROOF};
	bool has_secret = session->export->secret_bytes != 0;

	if (message->challenge.version != VBD_COPY_VERSION) {
		vbd_copy_fail(session, VBD_COPY_FAULT_PROTOCOL, "the peer chose version %u",
			message->challenge.version);
		return;
	}
	if (message->challenge.needs_proof != has_secret) {
		vbd_copy_fail(session, VBD_COPY_FAULT_REFUSED,
			"the export %s here has %s secret, and the peer's export %s has %s",
			session->copy->export_name, has_secret ? "a" : "no",
			session->copy->peer_export, has_secret ? "none" : "one, or is not for us");
		return;
	}
	session->prove = has_secret;
	memcpy(session->nonce, message->challenge.nonce, sizeof(session->nonce));
	if (compute_proof(session, false, proof.proof.mac))
		vbd_copy_send(session, &proof);
}

static struct vbd_copy_window own_window(const struct vbd_copy_session *session)
{
	struct vbd_copy_window window = {0};

	if (session->copy->sends)
		return window;
	window = session->window;
	window.addr = session->buffer->mem.addr;
	window.rkey = session->buffer->mem.rkey;
	return window;
}

static void tell_prepared(struct vbd_copy_session *session)
{
	vbd_copy_step(session, VBD_COPY_EV_PREPARED, NULL);
}

static void send_ready(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	struct vbd_copy_message ready = {
		.type = VBD_COPY_MSG_READY, .ready.window = own_window(session)};

	(void)message;
	if (compute_proof(session, true, ready.ready.mac))
		vbd_copy_send(session, &ready);
}

/* Go on with @next, a message with the window: the receiver makes that first. */
static void offer_window(
	struct vbd_copy_session *session, void (*next)(struct vbd_copy_session *session))
{
	if (session->copy->sends) {
		next(session);
		return;
	}
	session->window = (struct vbd_copy_window){
		.slots = VBD_COPY_SLOTS, .slot_bytes = VBD_COPY_SLOT_BYTES};
	vbd_copy_get_memory(session, true, next);
}

static void check_proof(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	if (!session->export || !check_proof_of(session, false, message->proof.mac)) {
		vbd_copy_fail(session, VBD_COPY_FAULT_REFUSED, "%s",
			vbd_copy_fault_text(VBD_COPY_FAULT_REFUSED));
		return;
	}
	vbd_timer_clear(session->copy->object.deadline);
	offer_window(session, tell_prepared);
}

static void begin(struct vbd_copy_session *session)
{
	session->copy->started_ns = vbd_clock_mono_ns();
	vbd_copy_step(session,
		session->copy->sends ? VBD_COPY_EV_START_SENDS : VBD_COPY_EV_START_RECEIVES, NULL);
}

static void start(struct vbd_copy_session *session)
{
	struct vbd_copy_message message = {
		.type = VBD_COPY_MSG_START, .start.window = own_window(session)};

	vbd_copy_send(session, &message);
	begin(session);
}

static bool take_window(struct vbd_copy_session *session, const struct vbd_copy_window *window)
{
	if (session->copy->sends != (window->slots != 0)) {
		vbd_copy_fail(session, VBD_COPY_FAULT_PROTOCOL, "the peer %s",
			window->slots ? "has a window, and does not receive"
				      : "receives, and has no window");
		return false;
	}
	if (session->copy->sends)
		session->window = *window;
	return true;
}

static void check_ready(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	if (!check_proof_of(session, true, message->ready.mac))
		vbd_copy_fail(session, VBD_COPY_FAULT_REFUSED,
			"the peer does not know the secret of the export");
	else if (take_window(session, &message->ready.window))
		offer_window(session, start);
}

static void check_start(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	if (take_window(session, &message->start.window))
		begin(session);
}

/* --- the end --------------------------------------------------------------------------------- */

static void stop(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	struct vbd_copy *copy = session->copy;

	if (message && message->type == VBD_COPY_MSG_BYE && !copy->fault) {
		copy->fault = message->bye.fault;
		(void)vbd_error_set(&copy->error, vbd_copy_fault_status(copy->fault),
			"the peer ended the copy: %s",
			message->bye.text[0] ? message->bye.text
					     : vbd_copy_fault_text(copy->fault));
	}
	if (!copy->server && session->connection)
		vbd_connection_close(session->connection);
}

static void say_bye(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	(void)message;
	if (!session->copy->fault) {
		session->copy->fault = VBD_COPY_FAULT_PROTOCOL;
		(void)vbd_error_set(&session->copy->error,
			vbd_copy_fault_status(VBD_COPY_FAULT_PROTOCOL),
			"the peer sent the message %s, which does not belong here",
			message ? vbd_copy_message_name(message->type) : "of a slot");
	}
	vbd_copy_say_bye(session);
}

static vbd_copy_act_fn *const actions[VBD_COPY_ACTION_COUNT] = {
	[VBD_COPY_ACT_SEND_HELLO] = send_hello,
	[VBD_COPY_ACT_ANSWER_HELLO] = answer_hello,
	[VBD_COPY_ACT_PROVE] = prove,
	[VBD_COPY_ACT_CHECK_PROOF] = check_proof,
	[VBD_COPY_ACT_SEND_READY] = send_ready,
	[VBD_COPY_ACT_CHECK_READY] = check_ready,
	[VBD_COPY_ACT_CHECK_START] = check_start,
	[VBD_COPY_ACT_BEGIN_SENDING] = vbd_copy_begin_sending,
	[VBD_COPY_ACT_BEGIN_RECEIVING] = vbd_copy_begin_receiving,
	[VBD_COPY_ACT_TAKE_ENTRIES] = vbd_copy_take_entries,
	[VBD_COPY_ACT_TAKE_WANT] = vbd_copy_take_want,
	[VBD_COPY_ACT_TAKE_FREE] = vbd_copy_take_free,
	[VBD_COPY_ACT_TAKE_DROPPED] = vbd_copy_take_dropped,
	[VBD_COPY_ACT_TAKE_SLOT] = vbd_copy_take_slot,
	[VBD_COPY_ACT_TAKE_DONE] = vbd_copy_take_done,
	[VBD_COPY_ACT_SEND_END] = vbd_copy_send_end,
	[VBD_COPY_ACT_CHECK_END] = vbd_copy_check_end,
	[VBD_COPY_ACT_SEND_BYE] = say_bye,
	[VBD_COPY_ACT_STOP] = stop,
};

/* --- the object ------------------------------------------------------------------------------ */

static void end_copy(struct vbd_copy *copy)
{
	struct vbd_copy_session *session = copy->session;
	const struct vbd_copy_progress *progress = &copy->progress;
	bool done = copy->state == VBD_COPY_DONE;

	release_export(session);
	vbd_copy_session_free(session);
	copy->session = NULL;
	vbd_timer_clear(copy->object.deadline);
	vbd_object_end(&copy->object);
	vbd_object_log(&copy->object, VBD_EVENT_COPY_ENDED,
		done && !progress->failed ? VBD_SEVERITY_INFO : VBD_SEVERITY_WARNING,
		copy->error.status, "%s: %llu files, %llu bytes, %llu skipped, %llu failed%s%s",
		vbd_copy_state_name(copy->state), (unsigned long long)progress->files_done,
		(unsigned long long)progress->bytes_done, (unsigned long long)progress->skipped,
		(unsigned long long)progress->failed, done ? "" : ": ",
		done ? "" : copy->error.text);
	vbd_object_changed(&copy->object);
}

static void on_deadline(void *arg)
{
	struct vbd_copy *copy = arg;

	if (copy->session)
		vbd_copy_fail(copy->session, VBD_COPY_FAULT_TIMEOUT, "the copy did not %s in %u ms",
			copy->server ? "begin" : "end",
			copy->server ? HANDSHAKE_MS : copy->timeout_ms);
}

static enum vbd_status make_copy(struct vbd_daemon *daemon, const struct vbd_origin *origin,
	struct vbd_copy **ret_copy, struct vbd_error *err)
{
	struct vbd_object *object;
	struct vbd_copy *copy;
	enum vbd_status status = vbd_object_create(daemon->copies, origin, "", &object, err);

	if (status)
		return status;
	copy = copy_of(object);
	copy->session = vbd_copy_session_make(copy, err);
	if (!copy->session) {
		vbd_object_free(object);
		return VBD_E_NO_MEMORY;
	}
	copy->session->actions = actions;
	copy->session->on_end = end_copy;
	*ret_copy = copy;
	return VBD_OK;
}

static void discard_copy(struct vbd_copy *copy)
{
	release_export(copy->session);
	vbd_copy_session_free(copy->session);
	copy->session = NULL;
	vbd_object_free(&copy->object);
}

void vbd_copy_params(struct vbd_conn_params *params)
{
	params->qp.service = VBD_SERVICE_FILES;
	params->qp.recv_size_bytes = VBD_COPY_MESSAGE_BYTES;
	/* The peer posts so many writes with immediate and so many messages at a time. */
	params->qp.rq_depth = VBD_COPY_SLOTS + 16;
	params->qp.heartbeat_ms = VBD_COPY_HEARTBEAT_MS;
	params->qp.heartbeat_if_able = true;
}

static enum vbd_status connect_copy(
	struct vbd_copy *copy, const struct vbd_copy_spec *spec, struct vbd_error *err)
{
	struct vbd_connection_spec to = {
		.origin = spec->origin,
		.dst_port = spec->peer_port,
		.timeout_ms = CONNECT_MS,
		.params = vbd_conn_params_default(),
		.cm.tos = -1,
	};
	struct vbd_connection *connection;
	enum vbd_status status;

	(void)snprintf(to.dst_addr, sizeof(to.dst_addr), "%s", spec->peer_addr);
	(void)snprintf(to.cm.device, sizeof(to.cm.device), "%s", spec->device);
	vbd_copy_params(&to.params);
	status = vbd_connection_create(copy->session->daemon, &to, &connection, err);
	if (!status)
		vbd_copy_session_begin(copy->session, connection);
	return status;
}

static enum vbd_status fill_copy(
	struct vbd_copy *copy, const struct vbd_copy_spec *spec, struct vbd_error *err)
{
	copy->state = VBD_COPY_CONNECTING;
	copy->sends = !spec->pull;
	copy->peer_port = spec->peer_port;
	copy->options = spec->options;
	copy->overwrite = spec->overwrite;
	copy->timeout_ms = spec->timeout_ms;
	(void)snprintf(copy->peer_addr, sizeof(copy->peer_addr), "%s", spec->peer_addr);
	(void)snprintf(copy->peer_export, sizeof(copy->peer_export), "%s", spec->peer_export);
	copy->path = strdup(spec->path);
	copy->peer_path = strdup(spec->peer_path);
	if (!copy->path || !copy->peer_path)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a copy");
	use_export(copy->session, spec->export);
	return VBD_OK;
}

enum vbd_status vbd_copy_create(struct vbd_daemon *daemon, const struct vbd_copy_spec *spec,
	struct vbd_copy **ret_copy, struct vbd_error *err)
{
	struct vbd_copy *copy;
	enum vbd_status status;

	if (spec->export->dir_fd < 0)
		return vbd_error_set(err, VBD_E_WRONG_STATE, "the export %s has failed: %s",
			spec->export->object.name, spec->export->error.text);
	status = make_copy(daemon, &spec->origin, &copy, err);
	if (status)
		return status;
	status = fill_copy(copy, spec, err);
	if (!status)
		status = connect_copy(copy, spec, err);
	if (status) {
		discard_copy(copy);
		return status;
	}
	if (spec->timeout_ms)
		vbd_timer_set(copy->object.deadline, spec->timeout_ms);
	vbd_object_log(&copy->object, VBD_EVENT_COPY_CREATED, VBD_SEVERITY_INFO, VBD_OK,
		"%s %s:%s %s %s:%s over connection %llu", spec->pull ? "pull" : "push",
		copy->export_name, copy->path, spec->pull ? "from" : "to", copy->peer_export,
		copy->peer_path, (unsigned long long)copy->connection_id);
	*ret_copy = copy;
	return VBD_OK;
}

void vbd_copy_serve(struct vbd_connection *connection)
{
	struct vbd_daemon *daemon = connection->object.registry->daemon;
	const struct vbd_origin origin = vbd_origin_like(&connection->object);
	struct vbd_error error = {0};
	struct vbd_copy *copy;

	if (make_copy(daemon, &origin, &copy, &error) != VBD_OK) {
		vbd_log(VBD_LOG_WARNING, "copy", "%s", error.text);
		vbd_connection_close(connection);
		return;
	}
	copy->state = VBD_COPY_AWAIT_HELLO;
	copy->server = true;
	copy->peer_port = vbd_addr_port(&connection->conn->peer);
	(void)vbd_addr_format(&connection->conn->peer, copy->peer_addr);
	vbd_timer_set(copy->object.deadline, HANDSHAKE_MS);
	vbd_copy_session_begin(copy->session, connection);
	vbd_object_log(&copy->object, VBD_EVENT_COPY_CREATED, VBD_SEVERITY_INFO, VBD_OK,
		"for %s over connection %llu", copy->peer_addr,
		(unsigned long long)copy->connection_id);
}

static void cancel_copy(struct vbd_object *object)
{
	struct vbd_copy *copy = copy_of(object);

	if (!copy->session || !vbd_copy_moves(copy->session))
		return;
	copy->fault = VBD_COPY_FAULT_CANCELLED;
	(void)vbd_error_set(&copy->error, VBD_E_CANCELLED, "the copy was cancelled");
	vbd_copy_step(copy->session, VBD_COPY_EV_CANCEL, NULL);
}

static void free_copy(struct vbd_object *object)
{
	struct vbd_copy *copy = copy_of(object);

	for (uint32_t i = 0; i < copy->problem_count; i++)
		free(copy->problems[i].path);
	free(copy->path);
	free(copy->peer_path);
	if (copy->session)
		vbd_copy_session_free(copy->session);
}

static const char *get_state_name(const struct vbd_object *object)
{
	return vbd_copy_state_name(((const struct vbd_copy *)object)->state);
}

const struct vbd_kind vbd_copy_kind = {
	.size_bytes = sizeof(struct vbd_copy),
	.keeps_history = true,
	.connection_at = offsetof(struct vbd_copy, connection_id),
	.on_deadline = on_deadline,
	.cancel = cancel_copy,
	.state = get_state_name,
	.error_at = offsetof(struct vbd_copy, error),
	.free = free_copy,
};
