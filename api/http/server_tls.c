/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MHD alone can't serve HTTPS on the loop:
 *
 * 1. A handshake that waits for its client makes MHD run without end (MHD_run_tls_handshake_() does
 *    not clear the readiness).
 * 2. MHD computes all handshakes that are ready in one run.
 * 3. MHD takes GNUTLS_E_AGAIN for an empty socket; GnuTLS also returns it behind a KeyUpdate.
 *
 * pull_bytes() reads for GnuTLS and cures 1 and 2: it suspends a handshake until there is something
 * to read and it is its turn. on_key_update() cures 3.
 */
#include "api/http/server_parts.h"

#include <gnutls/gnutls.h>
#include <microhttpd.h>

#include <ctype.h>

/* Handshakes that go on in one run of MHD: each computes for 0.4 ms with P-256, for 2 with RSA. */
#define TURNS_PER_RUN 2

/* --- handshakes in turn ---------------------------------------------------------------------- */

static void on_handshake_bytes(unsigned int events, void *arg)
{
	struct vbd_client *client = arg;
	struct vbd_server_endpoint *endpoint = client->endpoint;

	(void)events;
	vbd_fd_watch_stop(client->tls.watch);
	client->tls.watch = NULL;
	vbd_list_append(&endpoint->turns, &client->tls.turn);
	vbd_server_run_soon(endpoint);
}

static void suspend_handshake(struct vbd_client *client)
{
	struct vbd_server_endpoint *endpoint = client->endpoint;

	if (vbd_fd_watch_start(endpoint->server->loop, client->fd, VBD_FD_READ, on_handshake_bytes,
		    client, &client->tls.watch, NULL) != VBD_OK) {
		(void)shutdown(client->fd, SHUT_RDWR);
		client->tls.handshake = VBD_HANDSHAKE_GOES_ON;
		return;
	}
	client->tls.handshake = VBD_HANDSHAKE_RESTS;
	MHD_suspend_connection(client->mhd);
	vbd_server_run_soon(endpoint); /* as in vbd_exchange_suspend() */
}

static void resume_handshake(struct vbd_client *client)
{
	vbd_fd_watch_stop(client->tls.watch);
	client->tls.watch = NULL;
	vbd_list_remove(&client->tls.turn);
	client->tls.handshake = VBD_HANDSHAKE_GOES_ON;
	MHD_resume_connection(client->mhd);
}

void vbd_server_take_turns(struct vbd_server_endpoint *endpoint)
{
	for (unsigned int i = 0; i < TURNS_PER_RUN && !vbd_list_empty(&endpoint->turns); i++)
		resume_handshake(VBD_LIST_FIRST(&endpoint->turns, struct vbd_client, tls.turn));
	if (!vbd_list_empty(&endpoint->turns))
		vbd_server_run_soon(endpoint);
}

void vbd_client_tls_go_on(struct vbd_client *client)
{
	if (client->tls.handshake != VBD_HANDSHAKE_RESTS)
		return;
	resume_handshake(client);
	vbd_server_run_soon(client->endpoint);
}

/* --- reading for GnuTLS ---------------------------------------------------------------------- */

/* Tell a client that speaks HTTP without TLS, which would see a mere end of stream. */
static void answer_in_clear(struct vbd_client *client)
{
	struct vbd_error err = {0};

	(void)vbd_error_set(&err, VBD_E_MALFORMED_REQUEST,
		"this port serves HTTPS, and the request is HTTP: its address begins with "
		"https://");
	err.hint = "Begin the URL with https://.";
	vbd_client_refuse(client, &err, false);
}

static ssize_t pull_bytes(gnutls_transport_ptr_t arg, void *buf, size_t size)
{
	struct vbd_client *client = arg;
	struct vbd_client_tls *tls = &client->tls;
	bool may_read = tls->handshake >= VBD_HANDSHAKE_GOES_ON;
	ssize_t got = may_read ? recv(client->fd, buf, size, 0) : -1;
	int cause = may_read ? errno : EAGAIN;

	if (got < 0) {
		gnutls_transport_set_errno(tls->session, cause);
		if (cause == EAGAIN && tls->handshake != VBD_HANDSHAKE_OVER &&
			tls->handshake != VBD_HANDSHAKE_RESTS)
			suspend_handshake(client);
		return got;
	}
	if (got == 0)
		return 0;
	/* A record begins with its type, a number below 32. */
	if (!tls->greeted && isalpha(*(const unsigned char *)buf)) {
		answer_in_clear(client);
		return 0;
	}
	tls->greeted = true;
	return got;
}

/* GnuTLS asks before it would block, which it does not here. */
static int pull_timeout(gnutls_transport_ptr_t arg, unsigned int timeout_ms)
{
	(void)arg;
	(void)timeout_ms;
	return 1;
}

/* GnuTLS has read a KeyUpdate, and will tell MHD that nothing is there to read. A connection that
 * is resumed is ready for MHD. */
static int on_key_update(gnutls_session_t session, unsigned int type, unsigned int when,
	unsigned int incoming, const gnutls_datum_t *message)
{
	struct vbd_client *client = gnutls_transport_get_ptr(session);

	(void)type;
	(void)when;
	(void)message;
	if (!incoming)
		return 0;
	MHD_suspend_connection(client->mhd);
	MHD_resume_connection(client->mhd);
	vbd_server_run_soon(client->endpoint);
	return 0;
}

/* --- begin and end --------------------------------------------------------------------------- */

void vbd_client_tls_begin(struct vbd_client *client, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	gnutls_session_t session = info ? info->tls_session : NULL;

	vbd_list_init(&client->tls.turn);
	if (!session)
		return;
	client->tls.session = session;
	/* Only reading is ours: with a function that writes, GnuTLS would send each record by
	 * itself, and a delayed acknowledgement would hold up handshakes of TLS 1.2 for 40 ms. */
	gnutls_transport_set_ptr2(session, client, (gnutls_transport_ptr_t)(intptr_t)client->fd);
	gnutls_transport_set_pull_function(session, pull_bytes);
	gnutls_transport_set_pull_timeout_function(session, pull_timeout);
	gnutls_handshake_set_hook_function(
		session, GNUTLS_HANDSHAKE_KEY_UPDATE, GNUTLS_HOOK_POST, on_key_update);
	vbd_tls_peer_begin(&client->tls.peer, client->endpoint->server->tls, session);
}

void vbd_client_tls_requested(struct vbd_client *client)
{
	if (!client->tls.session || client->tls.handshake == VBD_HANDSHAKE_OVER)
		return;
	client->tls.handshake = VBD_HANDSHAKE_OVER;
	client->peer.tls = true;
	client->peer.cert_names = (const char *const *)client->tls.peer.names;
	client->peer.n_cert_names = client->tls.peer.n_names;
	client->peer.cert_expires_wall_s = client->tls.peer.expires_wall_s;
}

static void report_refusal(struct vbd_client *client)
{
	const struct vbd_dispatch_config *config = &client->endpoint->server->config.dispatch;
	struct vbd_error err = {0};

	/* A client of TLS 1.3 may have sent a request: a reset would take the alert from it. */
	client->unread = true;
	(void)vbd_error_set(&err, VBD_E_UNAUTHORIZED, "the client's certificate is refused: %s",
		client->tls.peer.refusal);
	vbd_log(VBD_LOG_INFO, client->name, "%s", err.text);
	if (config->on_refused)
		config->on_refused(config->context, client->name, NULL, &err);
}

void vbd_client_tls_end(struct vbd_client *client)
{
	if (!client->tls.session)
		return;
	if (client->tls.peer.refusal[0])
		report_refusal(client);
	vbd_fd_watch_stop(client->tls.watch);
	vbd_list_remove(&client->tls.turn);
	vbd_tls_peer_end(&client->tls.peer);
}
