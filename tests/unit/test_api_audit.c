/* SPDX-License-Identifier: Apache-2.0 */
/* The record of who did what to which object, and with which outcome. */
#include "api/api.h"
#include "api/core/handlers.h"
#include "daemon/observe/audit.h"
#include "tests/unit/client.h"

#include <unistd.h>

static char audit_file[128]; /* of the audit log */

static void open_file(struct client *f)
{
	int fd;

	(void)snprintf(audit_file, sizeof(audit_file), "%s/audit-XXXXXX", unit_tmpdir());
	fd = mkstemp(audit_file);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(vbd_audit_create(audit_file, &f->svc->daemon->audit, NULL), VBD_OK);
}

static int setup(void **state)
{
	static const struct client_caller callers[] = {
		{"reader", VBD_ROLE_READ}, {"alice", VBD_ROLE_OPERATE}, {"bob", VBD_ROLE_OPERATE}};
	struct client *client = client_begin(false);

	client->api.daemon = client->svc->daemon;
	open_file(client);
	assert_int_equal(vbd_audit_init(&client->api, NULL), VBD_OK);
	client->config.on_audited = vbd_audit_request;
	client_open(client, callers, VBD_ARRAY_LEN(callers));
	*state = client;
	return 0;
}

static int teardown(void **state)
{
	struct client *client = *state;

	vbd_request_fini(&client->req);
	memset(&client->req, 0, sizeof(client->req));
	vbd_ration_fini(&client->api.failures);
	(void)unlink(audit_file);
	return client_end(state);
}

#define AUDIT_TEST(name) TEST_WITH(name, struct client *f, setup, teardown)

static unsigned int perform(struct client *f, const char *caller, const char *method,
	const char *target, const char *body)
{
	client_send(f, caller, method, target, body);
	return f->req.reply.status;
}

/* Check the lines of the file, without their time. */
static void holds(struct client *f, const char *const *lines, size_t n_lines)
{
	char text[2000];
	size_t count = 0;
	FILE *file;

	vbd_audit_destroy(f->svc->daemon->audit); /* which writes what waits */
	f->svc->daemon->audit = NULL;
	file = fopen(audit_file, "re");
	assert_non_null(file);
	for (; fgets(text, sizeof(text), file); count++) {
		json_t *line = json_loads(text, 0, NULL);
		json_t *want = count < n_lines ? json_loads(lines[count], 0, NULL) : NULL;

		assert_non_null(json_string_value(json_object_get(line, "time")));
		(void)json_object_del(line, "time");
		if (!want || !json_equal(line, want))
			fail_msg("line %zu: %s", count + 1, text);
		json_decref(line);
		json_decref(want);
	}
	assert_int_equal(count, n_lines);
	(void)fclose(file);
}

#define HOLDS(f, ...)                                                   \
	do {                                                            \
		static const char *const lines_[] = {__VA_ARGS__};      \
		holds((f), lines_, sizeof(lines_) / sizeof(lines_[0])); \
	} while (0)

#define ALICE "{\"caller\":\"alice\",\"role\":\"operate\",\"client\":\"127.0.0.1:40312\","

static size_t count_events(const struct client *f)
{
	return svc_count_events(f->svc, VBD_EVENT_AUDIT);
}

/* --- tests ----------------------------------------------------------------------------------- */

AUDIT_TEST(test_audit__a_file_that_can_not_be_opened_says_why)
{
	struct vbd_audit *audit = NULL;
	struct vbd_error err = {0};

	assert_int_not_equal(vbd_audit_create("/nonexistent/audit", &audit, &err), VBD_OK);
	assert_null(audit);
	assert_string_equal(err.pointer, "audit_file");
	assert_non_null(strstr(err.text, "/nonexistent/audit"));
	assert_int_equal(vbd_audit_create("", &audit, &err), VBD_OK);
	assert_null(audit);
}

AUDIT_TEST(test_audit__a_success_has_the_object_that_was_made)
{
	const struct vbd_eventlog *eventlog = f->svc->daemon->eventlog;
	const struct vbd_event *event;

	assert_int_equal(perform(f, "alice", "POST", "/v1/pds",
				 "{\"device\": \"fake0\", \"name\": \"mine\"}"),
		201);
	event = vbd_eventlog_get(eventlog, vbd_eventlog_last(eventlog));
	assert_int_equal(event->type, VBD_EVENT_AUDIT);
	assert_string_equal(
		event->detail, "alice (operate) from 127.0.0.1:40312: POST create_pd pd/2: 201");
	assert_int_equal(perform(f, "alice", "GET", "/v1/pds/mine", NULL), 200);
	assert_int_equal(perform(f, "alice", "DELETE", "/v1/pds/2", NULL), 204);
	assert_int_equal(count_events(f), 2);
	HOLDS(f,
		ALICE
		"\"method\":\"POST\",\"path\":\"/v1/pds\",\"object\":{\"kind\":\"pd\",\"id\":2,"
		"\"name\":\"mine\"},\"status\":201,\"code\":null}",
		ALICE
		"\"method\":\"DELETE\",\"path\":\"/v1/pds/{ref}\",\"object\":{\"kind\":\"pd\","
		"\"id\":2,\"name\":null},\"status\":204,\"code\":null}");
}

AUDIT_TEST(test_audit__a_refusal_by_role_is_recorded_whatever_the_method)
{
	assert_int_equal(perform(f, "reader", "DELETE", "/v1/buffers/x", NULL), 403);
	assert_int_equal(perform(f, "reader", "GET", "/v1/buffers/7/data", NULL), 403);
	assert_int_equal(perform(f, "nobody", "DELETE", "/v1/buffers/7", NULL), 401);
	HOLDS(f,
		"{\"caller\":\"reader\",\"role\":\"read\",\"client\":\"127.0.0.1:40312\","
		"\"method\":"
		"\"DELETE\",\"path\":\"/v1/buffers/"
		"{ref}\",\"object\":{\"kind\":\"buffer\",\"id\":null,"
		"\"name\":\"x\"},\"status\":403,\"code\":\"forbidden\"}",
		"{\"caller\":\"reader\",\"role\":\"read\",\"client\":\"127.0.0.1:40312\","
		"\"method\":"
		"\"GET\",\"path\":\"/v1/buffers/{ref}/"
		"data\",\"object\":{\"kind\":\"buffer\",\"id\":7,"
		"\"name\":null},\"status\":403,\"code\":\"forbidden\"}");
}

AUDIT_TEST(test_audit__a_failure_has_its_code_and_the_object_of_another)
{
	assert_int_equal(
		perform(f, "bob", "POST", "/v1/pds", "{\"device\": \"fake0\", \"name\": \"bobs\"}"),
		201);
	assert_int_equal(perform(f, "alice", "DELETE", "/v1/pds/bobs", NULL), 404);
	assert_int_equal(perform(f, "alice", "POST", "/v1/nothing", "{}"), 404);
	assert_int_equal(perform(f, "bob", "DELETE", "/v1/pds/bobs", NULL), 204);
	HOLDS(f,
		"{\"caller\":\"bob\",\"role\":\"operate\",\"client\":\"127.0.0.1:40312\","
		"\"method\":"
		"\"POST\",\"path\":\"/v1/"
		"pds\",\"object\":{\"kind\":\"pd\",\"id\":2,\"name\":\"bobs\"},"
		"\"status\":201,\"code\":null}",
		ALICE
		"\"method\":\"DELETE\",\"path\":\"/v1/pds/{ref}\",\"object\":{\"kind\":\"pd\","
		"\"id\":2,\"name\":\"bobs\"},\"status\":404,\"code\":\"not_found\"}",
		ALICE "\"method\":\"POST\",\"path\":null,\"object\":null,\"status\":404,"
		      "\"code\":\"not_found\"}",
		"{\"caller\":\"bob\",\"role\":\"operate\",\"client\":\"127.0.0.1:40312\","
		"\"method\":"
		"\"DELETE\",\"path\":\"/v1/pds/"
		"{ref}\",\"object\":{\"kind\":\"pd\",\"id\":null,\"name\":"
		"\"bobs\"},\"status\":204,\"code\":null}");
}

AUDIT_TEST(test_audit__data_transfers_are_in_the_file_only)
{
	assert_int_equal(perform(f, "alice", "DELETE", "/v1/transfers/7", NULL), 404);
	assert_int_equal(count_events(f), 0);
	HOLDS(f, ALICE
		"\"method\":\"DELETE\",\"path\":\"/v1/transfers/{ref}\",\"object\":{\"kind\":"
		"\"transfer\",\"id\":7,\"name\":null},\"status\":404,\"code\":\"not_found\"}");
}

AUDIT_TEST(test_audit__the_fd_of_a_buffer_is_handed_out_with_a_record)
{
	assert_int_equal(perform(f, "alice", "GET", "/v1/buffers/7/fd", NULL), 404);
	HOLDS(f, ALICE "\"method\":\"GET\",\"path\":\"/v1/buffers/{ref}/fd\",\"object\":{\"kind\":"
		       "\"buffer\",\"id\":7,\"name\":null},\"status\":404,\"code\":\"not_found\"}");
}

AUDIT_TEST(test_audit__failures_are_rationed_in_the_event_log)
{
	for (int i = 0; i < 50; i++)
		assert_int_equal(perform(f, "alice", "DELETE", "/v1/pds/77", NULL), 404);
	assert_int_equal(count_events(f), 20);
	assert_int_equal(vbd_audit_lines_dropped(f->svc->daemon->audit), 0);
}

/* The client has left, or there was no memory. */
AUDIT_TEST(test_audit__a_request_without_an_answer_is_a_failure)
{
	assert_int_equal(perform(f, "alice", "POST", "/v1/pds", "{\"name\":\"a\"}"), 201);
	assert_int_equal(count_events(f), 1);
	f->req.reply.status = 0;
	for (int i = 0; i < 50; i++)
		vbd_audit_request(&f->req);
	assert_int_equal(count_events(f), 1 + 20);
}

AUDIT_TEST(test_audit__texts_of_clients_stay_texts)
{
	assert_int_equal(perform(f, "alice", "DELETE", "/v1/pds/%22%7d%c3%a9", NULL), 404);
	HOLDS(f, ALICE
		"\"method\":\"DELETE\",\"path\":\"/v1/pds/{ref}\",\"object\":{\"kind\":\"pd\","
		"\"id\":null,\"name\":\"\\\"}é\"},\"status\":404,\"code\":\"not_found\"}");
}

AUDIT_TEST(test_audit__a_stranger_who_is_refused_has_a_line)
{
	struct vbd_error err = {0};

	(void)vbd_error_set(&err, VBD_E_UNAUTHORIZED, "no");
	vbd_audit_refusal(&f->api, "10.0.0.7:1234", &err);
	vbd_audit_refusals_more(&f->api, 9);
	HOLDS(f,
		"{\"caller\":null,\"role\":null,\"client\":\"10.0.0.7:1234\",\"method\":null,"
		"\"path\":"
		"null,\"object\":null,\"status\":401,\"code\":\"unauthorized\"}",
		"{\"more_refused\":9}");
}
