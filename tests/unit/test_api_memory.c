/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole API without memory: every allocation that a request makes fails once, in the server, in
 * its handler, in jansson, in the daemon and in a worker. The client gets a well-formed answer or
 * its connection is closed, the next request is answered, and nothing is left in the end.
 */
#include "tests/unit/rest.h"

/* A request, and the one that undoes it. */
struct action {
	const char *method, *path, *body;
	const char *undo; /* path to DELETE; NULL for none */
};

static const struct action actions[] = {
	{"GET", "/livez", NULL, NULL},
	{"GET", "/readyz", NULL, NULL},
	{"GET", "/metrics", NULL, NULL},
	{"GET", "/v1", NULL, NULL},
	{"GET", "/v1/stats", NULL, NULL},
	{"GET", "/v1/stats/traffic", NULL, NULL},
	{"GET", "/v1/events?limit=5", NULL, NULL},
	{"GET", "/v1/glossary", NULL, NULL},
	{"GET", "/v1/devices", NULL, NULL},
	{"GET", "/v1/connections?state=open,ended&fields=id,name,qp&sort=-id", NULL, NULL},
	{"GET", "/v1/connections/none", NULL, NULL},
	{"GET", "/v1/listeners/l", NULL, NULL},
	{"GET", "/v1/buffers/b", NULL, NULL},
	{"GET", "/v1/buffers/b/data", NULL, NULL},
	{"GET", "/v1/buffers/b/checksum?algorithm=sha256", NULL, NULL},
	{"POST", "/v1/listeners", "{\"name\":\"x\",\"addr\":\"10.0.0.1\",\"port\":0}",
		"/v1/listeners/x"},
	{"POST", "/v1/buffers",
		"{\"name\":\"x\",\"size_bytes\":4096,\"access\":[\"remote_write\"]}",
		"/v1/buffers/x"},
	{"POST", "/v1/connections",
		"{\"name\":\"x\",\"dst_addr\":\"10.0.0.1\",\"dst_port\":1,\"labels\":{\"a\":\"b\"}"
		"}",
		"/v1/connections/x"},
	{"POST", "/v1/cqs", "{\"name\":\"x\",\"cqe\":64}", "/v1/cqs/x"},
	{"POST", "/v1/srqs", "{\"name\":\"x\",\"max_wr\":4}", "/v1/srqs/x"},
	{"PATCH", "/v1/listeners/l", "{\"accept\":\"auto\"}", NULL},
	{"PUT", "/v1/buffers/b/data", "0123456789abcdef", NULL},
	{"POST", "/v1/buffers", "{\"size_bytes\":true}", NULL},
	{"GET", "/metrics?connections=1", NULL, NULL},
	{"GET", "/v1/caller", NULL, NULL},
	{"GET", "/v1/connections/c", NULL, NULL},
	{"GET", "/v1/connections/c/explain", NULL, NULL},
	{"GET", "/v1/connections/c/timeline", NULL, NULL},
	{"GET", "/v1/connections/c/messages?wait_ms=0", NULL, NULL},
	{"GET", "/v1/devices/fake0", NULL, NULL},
	{"GET", "/v1/glossary/rejected", NULL, NULL},
	{"GET", "/v1/reachability?dst_addr=10.0.0.1&dst_port=1", NULL, NULL},
	{"POST", "/v1/pds", "{\"name\":\"x\"}", "/v1/pds/x"},
	{"POST", "/v1/ud_endpoints", "{\"name\":\"x\",\"qp\":{\"rq_depth\":4}}",
		"/v1/ud_endpoints/x"},
	{"POST", "/v1/ud_peers",
		"{\"name\":\"x\",\"ud_endpoint\":\"e\",\"gid\":\"fe80::1\",\"qpn\":5}",
		"/v1/ud_peers/x"},
	{"POST", "/v1/multicast_memberships",
		"{\"name\":\"x\",\"ud_endpoint\":\"e\",\"addr\":\"239.1.2.3\"}",
		"/v1/multicast_memberships/x"},
	{"POST", "/v1/connections", "{\"name\":\"x\",\"bringup\":\"manual\"}", "/v1/connections/x"},
	{"POST", "/v1/connection_batches",
		"{\"connections\":[{\"dst_addr\":\"10.0.0.1\",\"dst_port\":1}]}",
		"/v1/objects?kind=connection&label=a%3Db"},
	{"POST", "/v1/transfers",
		"{\"op\":\"send\",\"connection\":\"c\",\"buffer\":\"b\",\"length_bytes\":5,"
		"\"labels\":{\"a\":\"b\"}}",
		"/v1/objects?kind=transfer&label=a%3Db"},
	{"POST", "/v1/transfer_batches",
		"{\"transfers\":[{\"op\":\"send\",\"connection\":\"c\",\"buffer\":\"b\","
		"\"length_bytes\":5}],\"labels\":{\"a\":\"b\"}}",
		"/v1/objects?kind=transfer&label=a%3Db"},
	{"POST", "/v1/probes", "{\"connection\":\"c\",\"count\":1,\"labels\":{\"a\":\"b\"}}",
		"/v1/objects?kind=probe&label=a%3Db"},
	{"POST", "/v1/benchmarks",
		"{\"connection\":\"c\",\"op\":\"send\",\"size_bytes\":8,\"count\":2,"
		"\"labels\":{\"a\":\"b\"}}",
		"/v1/objects?kind=benchmark&label=a%3Db"},
	{"POST", "/v1/connections/c/messages", "{\"data\":\"hello\"}", NULL},
	{"POST", "/v1/objects/-/cancel?kind=connection&label=none%3Dx", NULL, NULL},
	{"DELETE", "/v1/objects?kind=connection&label=a%3Db", NULL, NULL},
};

/* Codes that tell of a lack of memory, and of what it leads to. jansson takes some for a fault of
 * the document. */
static bool is_of_memory(const char *code)
{
	static const char *const codes[] = {"no_memory", "too_many_clients", "resource_error",
		"rejected", "malformed_json", "wrong_type", "not_found"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(codes); i++) {
		if (strcmp(code, codes[i]) == 0)
			return true;
	}
	return false;
}

/* A reply that ends early is one that its Content-Length tells from a whole one. */
static void check_reply(const struct rest *rest, const struct action *action, int status)
{
	const char *length = strstr(rest->reply, "Content-Length: ");
	const char *body = strstr(rest->reply, "\r\n\r\n");
	json_t *json;

	if (!status)
		return;
	assert_in_range(status, 200, 599);
	assert_non_null(body);
	if (!length || strlen(body + 4) < (size_t)atol(length + strlen("Content-Length: ")))
		return;
	if (!strstr(rest->reply, "json\r\n"))
		return;
	json = json_loads(body + 4, 0, NULL);
	if (!json)
		fail_msg("%s %s: not JSON: %s", action->method, action->path, rest->reply);
	if (status >= 400 && !is_of_memory(rest_text(json, "code")))
		fail_msg("%s %s: %s", action->method, action->path, rest->reply);
	json_decref(json);
}

static void expect_good(struct rest *rest, const char *method, const char *path, const char *body)
{
	int status = rest_perform(rest, method, path, body);

	if (status < 200 || status > 299)
		fail_msg("%s %s: %s", method, path, rest->reply);
}

/* A problem says that nothing was made. One of a connection, a peer or a group may be about its
 * failure. */
static void check_unmade(struct rest *rest, const struct action *action, int status)
{
	if (status < 400 || !action->undo || strstr(action->undo, "connections") ||
		strstr(action->undo, "ud_peers") || strstr(action->undo, "memberships") ||
		strchr(action->undo, '?'))
		return;
	if (rest_perform(rest, "GET", action->undo, NULL) != 404)
		fail_msg("%s %s: %d, and it is there: %s", action->method, action->path, status,
			rest->reply);
}

/* A buffer can't be deleted before a call thread has registered it. */
static void undo(struct rest *rest, const struct action *action)
{
	if (!action->undo)
		return;
	while (rest_perform(rest, "DELETE", action->undo, NULL) == 409)
		;
}

REST_TEST(test_api_memory__each_allocation_of_a_request_may_fail)
{
	unsigned int failures = 0;

	(void)rest_pair(rest, "", ",'service':'sink'");
	expect_good(rest, "POST", "/v1/ud_endpoints", "{\"name\":\"e\"}");
	expect_good(rest, "POST", "/v1/buffers", "{\"name\":\"b\",\"size_bytes\":4096}");
	for (size_t i = 0; i < VBD_ARRAY_LEN(actions); i++) {
		const struct action *action = &actions[i];
		bool failed = true;

		for (unsigned int n = 1; failed; n++) {
			int status;

			fake_memory_fail_nth(n);
			status = rest_perform(rest, action->method, action->path, action->body);
			failed = fake_memory_failed();
			fake_memory_fail_nth(0);
			failures += failed;
			check_reply(rest, action, status);
			expect_good(rest, "GET", "/livez", NULL);
			check_unmade(rest, action, status);
			undo(rest, action);
		}
	}
	/* Each request allocates. */
	assert_true(failures > 10 * VBD_ARRAY_LEN(actions));
	print_message("%u allocations failed\n", failures);
}

int main(int argc, char **argv)
{
	json_set_alloc_funcs(malloc, free);
	return unit_run(argc, argv, NULL, NULL);
}
