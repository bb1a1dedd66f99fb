/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the transports and callers of tests that send requests through the dispatch. */
#ifndef VBD_TESTS_UNIT_TRANSPORT_H
#define VBD_TESTS_UNIT_TRANSPORT_H

#include "api/http/auth.h"
#include "api/http/request.h"
#include "tests/unit/unit.h"

/** unit_add_caller - add a caller whose token is its name */
static inline void unit_add_caller(
	struct vbd_caller_list *list, const char *name, enum vbd_role role)
{
	struct vbd_credential *credential;

	assert_non_null(vbd_caller_list_add(list, name, role));
	credential = vbd_caller_list_know(list, VBD_CREDENTIAL_TOKEN);
	assert_non_null(credential);
	assert_true(vbd_token_hash(name, credential->sha256));
}

/** unit_set_header - set a header of a request, which owns a copy of @value; NULL: it is absent */
static inline void unit_set_header(
	struct vbd_request *req, enum vbd_header header, const char *value)
{
	free(req->headers[header]);
	req->headers[header] = value ? strdup(value) : NULL;
}

/** unit_set_headers - the headers of a request with JSON by the caller of @authorization */
static inline void unit_set_headers(struct vbd_request *req, const char *authorization)
{
	unit_set_header(req, VBD_HEADER_AUTHORIZATION, authorization);
	unit_set_header(req, VBD_HEADER_HOST, "localhost");
	unit_set_header(req, VBD_HEADER_CONTENT_TYPE, "application/json");
}

/** unit_park - `park` of a transport: each request may wait, and nobody ends the wait */
static inline enum vbd_status unit_park(struct vbd_request *req, uint64_t timeout_ms,
	vbd_request_cb on_timeout, vbd_request_cb on_gone, void *arg, struct vbd_error *err)
{
	(void)req;
	(void)timeout_ms;
	(void)on_timeout;
	(void)on_gone;
	(void)arg;
	(void)err;
	return VBD_OK;
}

/** unit_follow - `follow` of a transport that has no feeds */
static inline enum vbd_status unit_follow(struct vbd_request *req, struct vbd_error *err)
{
	(void)req;
	return vbd_error_set(err, VBD_E_TOO_MANY_REQUESTS, "the test has no feeds");
}

/** unit_ignore - `answered` and `wake` of a transport whose test looks at the reply itself */
static inline void unit_ignore(struct vbd_request *req)
{
	(void)req;
}

#endif
