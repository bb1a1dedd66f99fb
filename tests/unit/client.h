/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of the API of a whole daemon without an HTTP server: its requests go through the
 * dispatch, with a caller, or straight to a handler.
 */
#ifndef VBD_TESTS_UNIT_CLIENT_H
#define VBD_TESTS_UNIT_CLIENT_H

#include "api/core/context.h"
#include "api/http/dispatch.h"
#include "tests/unit/scratch.h"
#include "tests/unit/svc.h"
#include "tests/unit/transport.h"

#include <jansson.h>

struct client {
	struct svc *svc;
	struct vbd_api api;
	struct vbd_dispatch_config config; /* a test may change it before client_open() */
	struct vbd_credentials *credentials;
	struct vbd_dispatch *dispatch;
	char folder[SCRATCH_PATH_BYTES]; /* with the state_dir; "" for none */

	struct vbd_request req; /* the last one, with its answer */
	char target[400], path[400], authorization[64];
	/* Headers of the requests to come; NULL for none. */
	const char *type, *if_match, *key;
	bool may_not_wait; /* a request */

	/* The wait of the request. */
	uint64_t timeout_ms;
	vbd_request_cb on_timeout, on_gone;
	void *park_arg;
};

struct client_caller {
	const char *name; /* also its token */
	enum vbd_role role;
};

/** client_begin - make a daemon and a client of it, which has no dispatch yet
 * @has_state: with a state_dir
 *
 * For the setup of a fixture; client_end() is for its teardown.
 */
struct client *client_begin(bool has_state);
int client_end(void **state);

/** client_open, client_close - make the dispatch of the API, for these callers, and take it down */
void client_open(struct client *client, const struct client_caller *callers, size_t count);
void client_close(struct client *client);

/**
 * client_send - send a request through the dispatch; the answer may come later
 * @method: "GET"
 * @body: NULL for none
 */
void client_send(struct client *client, const char *caller, const char *method, const char *target,
	const char *body);

/** client_ask - send a request, and turn the loop until it is answered; returns the HTTP status */
unsigned int client_ask(struct client *client, const char *caller, const char *method,
	const char *target, const char *body);

/**
 * client_prepare - begin a request with the role control that goes straight to a handler; what was
 * known of the request before is forgotten
 */
void client_prepare(struct client *client, enum vbd_method method, const char *target);

/** client_await - turn the loop, without waiting, until the request is answered; returns the number
 * of turns */
unsigned int client_await(struct client *client);

/** client_document - the document of the answer; the caller frees it */
json_t *client_document(const struct client *client);

/** client_says - whether the answer has this text */
bool client_says(const struct client *client, const char *text);

#endif
