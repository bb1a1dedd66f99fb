/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of the whole API: a real HTTP server on a unix socket, with a daemon on the fake
 * provider. Loopback is on, so that the daemon's objects can reach each other.
 */
#ifndef VBD_TESTS_UNIT_REST_H
#define VBD_TESTS_UNIT_REST_H

#include "api/api.h"
#include "tests/unit/svc.h"

#include <jansson.h>

#include <sys/un.h>

/* rest->headers after rest_setup() */
#define REST_WAIT "Prefer: wait=60\r\n"

#define REST_REPLY_MAX_BYTES ((size_t)1 << 20)

struct rest {
	struct svc *svc;
	struct vbd_api *api;
	struct sockaddr_un addr;
	json_t *document;    /* of the last rest_call() */
	const char *headers; /* of the requests to come, each with its end of line */
	char reply[REST_REPLY_MAX_BYTES + 1];
};

/** rest_setup, rest_teardown - cmocka fixtures, on those of svc.h */
int rest_setup(void **state);
int rest_teardown(void **state);

/* A test on this fixture, which its body has as `rest`. */
#define REST_TEST(name) TEST_WITH(name, struct rest *rest, rest_setup, rest_teardown)

/**
 * rest_perform - send a request, with the role control, and read the reply into rest->reply
 * @body: NULL for none; JSON, but for PUT
 *
 * Returns the HTTP status; 0 if there is no reply.
 */
int rest_perform(struct rest *rest, const char *method, const char *path, const char *body);

/** rest_send, rest_receive - rest_perform() in two halves, so that several requests are under way
 * at a time; rest_send() returns the descriptor for rest_receive() */
int rest_send(struct rest *rest, const char *method, const char *path, const char *body);
int rest_receive(struct rest *rest, int fd);

/**
 * rest_call - a request whose status must be @status
 * @body: as of rest_perform(), with ' for "
 *
 * Returns the document, which lasts until the next call; NULL if the answer has none.
 */
const json_t *rest_call(struct rest *rest, int status, const char *method, const char *path,
	const char *body, ...) VBD_PRINTF(5, 6);

/** rest_expect - fail the test unless @document has the members of @members (JSON with ' for "), at
 * any depth; an array must have as many items */
void rest_expect(const json_t *document, const char *members);

/** rest_refuse - a request that must be a problem with @code, and with @pointer unless that is
 * NULL; @body as of rest_call() */
void rest_refuse(struct rest *rest, const char *path, const char *body, const char *code,
	const char *pointer);

/** rest_number, rest_text - a member of the document */
uint64_t rest_number(const json_t *document, const char *name);
const char *rest_text(const json_t *document, const char *name);

/** rest_pair - make a listener "l", and a connection "c" to it; @here and @there are more members
 * of the two
 * (",'service':'echo'"), "" for none; returns the id of the other end */
uint64_t rest_pair(struct rest *rest, const char *here, const char *there);

#endif
