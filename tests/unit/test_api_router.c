/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"
#include "api/core/task.h"
#include "api/http/page.h"
#include "api/http/router.h"

#include "tests/unit/unit.h"

#include <ctype.h>

/* --- the routes of openapi.yaml -------------------------------------------------------------- */

#define OPERATIONS_MAX 160
#define TEXT_MAX       16384

/* One operation: the lines between its method and the next method. */
struct operation {
	char path[64];
	char method[8];
	char text[TEXT_MAX];
};

static struct operation operations[OPERATIONS_MAX];
static size_t n_operations;

static bool is_method(const char *line)
{
	static const char *const methods[] = {"get", "post", "put", "patch", "delete"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(methods); i++) {
		size_t len = strlen(methods[i]);

		if (strncmp(line, "    ", 4) == 0 && strncmp(line + 4, methods[i], len) == 0 &&
			line[4 + len] == ':')
			return true;
	}
	return false;
}

static void begin_operation(const char *path, const char *line)
{
	struct operation *operation = &operations[n_operations++];

	assert_true(n_operations <= OPERATIONS_MAX);
	(void)snprintf(operation->path, sizeof(operation->path), "%s", path);
	for (size_t i = 0; i + 1 < sizeof(operation->method) && isalpha((unsigned char)line[4 + i]);
		i++)
		operation->method[i] = (char)toupper((unsigned char)line[4 + i]);
}

static void read_operations(const char *name)
{
	FILE *file = fopen(name, "r");
	char line[1024], path[64] = "";
	bool in_operation = false;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) && strncmp(line, "components:", 11) != 0) {
		if (strncmp(line, "  /", 3) == 0) {
			(void)snprintf(
				path, sizeof(path), "%.*s", (int)strcspn(line + 2, ":"), line + 2);
			in_operation = false;
		} else if (*path && is_method(line)) {
			begin_operation(path, line);
			in_operation = true;
		} else if (in_operation) {
			char *text = operations[n_operations - 1].text;

			assert_true(strlen(text) + strlen(line) < TEXT_MAX);
			strcat(text, line);
		}
	}
	(void)fclose(file);
}

static int read_contract(void **state)
{
	(void)state;
	read_operations(VBD_SOURCE_DIR "/openapi.yaml");
	read_operations(VBD_SOURCE_DIR "/openapi-extra.yaml");
	return 0;
}

/* A parameter that the operation itself has, in lines or in one line; NULL if there is none. */
static const char *find_own(const struct operation *operation, const char *name)
{
	char in_lines[80], in_a_line[80];
	const char *at;

	(void)snprintf(in_lines, sizeof(in_lines), "- name: %s\n          in: query\n", name);
	(void)snprintf(in_a_line, sizeof(in_a_line), "- {name: %s, in: query,", name);
	at = strstr(operation->text, in_lines);
	return at ? at : strstr(operation->text, in_a_line);
}

static bool takes_parameter(const struct operation *operation, const char *name)
{
	char reference[80], of_list[80];

	(void)snprintf(reference, sizeof(reference), "#/components/parameters/%s'", name);
	(void)snprintf(of_list, sizeof(of_list), "#/components/parameters/list_%s'", name);
	return strstr(operation->text, reference) || strstr(operation->text, of_list) ||
	       find_own(operation, name);
}

static const struct operation *find_operation(const struct vbd_route *route)
{
	for (size_t i = 0; i < n_operations; i++) {
		if (strcmp(operations[i].path, route->pattern) == 0 &&
			strcmp(operations[i].method, vbd_method_name(route->method)) == 0)
			return &operations[i];
	}
	return NULL;
}

static enum vbd_body body_of(const struct operation *operation)
{
	const char *body = strstr(operation->text, "requestBody:");
	const char *responses = strstr(operation->text, "responses:");

	assert_non_null(responses);
	if (!body)
		return VBD_BODY_NONE;
	if (strstr(body, "required: false") && strstr(body, "required: false") < responses)
		return VBD_BODY_OPTIONAL;
	if (strstr(body, "octet-stream") && strstr(body, "octet-stream") < responses)
		return VBD_BODY_STREAM;
	return VBD_BODY_JSON;
}

/* --- the table against the contract ---------------------------------------------------------- */

TEST(test_routes__every_route_is_in_the_contract)
{
	const struct vbd_router router = vbd_routes();

	for (size_t i = 0; i < router.n_routes; i++) {
		const struct vbd_route *route = &router.routes[i];
		const struct operation *operation = find_operation(route);
		char id[80];

		if (!operation)
			fail_msg("%s is not in openapi.yaml", route->operation);
		(void)snprintf(id, sizeof(id), "operationId: %s\n", route->operation);
		if (!strstr(operation->text, id))
			fail_msg("%s has another operationId", route->operation);
		(void)snprintf(id, sizeof(id), "x-role: %s\n", vbd_role_name(route->role));
		if (!strstr(operation->text, id))
			fail_msg("%s differs in x-role", route->operation);
		if (body_of(operation) != route->body)
			fail_msg("%s has another body", route->operation);
		if (takes_parameter(operation, "prefer") != vbd_route_waits(route) ||
			takes_parameter(operation, "wait_ms") != vbd_route_waits(route))
			fail_msg("%s differs in Prefer or wait_ms", route->operation);
		assert_non_null(route->handler);
		assert_int_equal(route->body == VBD_BODY_STREAM, route->open != NULL);
	}
}

TEST(test_routes__every_operation_of_the_contract_has_a_route)
{
	const struct vbd_router router = vbd_routes();

	assert_int_equal(router.n_routes, n_operations);
	for (size_t i = 0; i < n_operations; i++) {
		bool found = false;

		for (size_t k = 0; k < router.n_routes && !found; k++)
			found = find_operation(&router.routes[k]) == &operations[i];
		if (!found)
			fail_msg("%s %s has no route", operations[i].method, operations[i].path);
	}
}

static bool route_takes(const struct vbd_route *route, const char *name)
{
	for (size_t i = 0; i < VBD_ROUTE_QUERY_MAX && route->query[i]; i++) {
		if (strcmp(route->query[i], name) == 0)
			return true;
	}
	return false;
}

TEST(test_routes__parameters_are_those_of_the_contract)
{
	static const char *const names[] = {"limit", "after", "sort", "state", "fields", "until",
		"verbose", "end_code", "offset_bytes", "length_bytes", "algorithm", "encoding",
		"through", "type", "object", "severity", "code", "label", "name", "kind", "access",
		"connections", "cqs", "dst_addr", "dst_port", "src_addr", "device", "listener",
		"connection", "buffer", "batch", "pd", "ud_endpoint", "ud_peer",
		"multicast_membership", "all", "dry_run", "path"};
	const struct vbd_router router = vbd_routes();

	for (size_t i = 0; i < router.n_routes; i++) {
		const struct vbd_route *route = &router.routes[i];
		size_t known = 0;

		for (size_t k = 0; k < VBD_ARRAY_LEN(names); k++) {
			bool takes = route_takes(route, names[k]);

			known += takes;
			if (takes != takes_parameter(find_operation(route), names[k]))
				fail_msg("%s differs in %s", route->operation, names[k]);
		}
		for (size_t k = 0; k < VBD_ROUTE_QUERY_MAX && route->query[k]; k++)
			known -= strcmp(route->query[k], "wait_ms") != 0;
		assert_int_equal(known, 0); /* otherwise the list of names above is incomplete */
	}
}

/* Takes the next value of the enum at @at, "[id, -id, name]"; returns what follows. */
static const char *take_value(const char *at, char value[64])
{
	size_t len;

	at += strspn(at, "[ ,\n");
	len = strcspn(at, ",]\n");
	(void)snprintf(value, 64, "%.*s", (int)len, at);
	return at + len;
}

static void must_be(const struct vbd_route *route, const char **at, const char *value)
{
	char found[64];

	*at = take_value(*at, found);
	if (strcmp(found, value) != 0)
		fail_msg("%s: the contract has %s where the table has %s", route->operation, found,
			value);
}

static void must_be_key(const struct vbd_route *route, const char **at, const char *name)
{
	char descending[64];

	(void)snprintf(descending, sizeof(descending), "-%s", name);
	must_be(route, at, name);
	must_be(route, at, descending);
}

/* The text behind "enum: " of a parameter, NULL if the operation does not have the parameter. */
static const char *find_enum(const struct operation *operation, const char *parameter)
{
	const char *at = find_own(operation, parameter);

	if (!at)
		return NULL;
	at = strstr(at, "enum: ");
	assert_non_null(at);
	return at + strlen("enum: ");
}

TEST(test_routes__lists_have_the_sort_keys_and_states_of_the_contract)
{
	const struct vbd_router router = vbd_routes();

	for (size_t i = 0; i < router.n_routes; i++) {
		const struct vbd_route *route = &router.routes[i];
		const struct vbd_page_state *item_state;
		const char *at;

		if (!route_takes(route, "sort"))
			continue;
		at = find_enum(find_operation(route), "sort");
		must_be_key(route, &at, "id");
		for (const struct vbd_page_column *column = route->task->page.columns; column->name;
			column++) {
			if (column->use & VBD_SORTS)
				must_be_key(route, &at, column->name);
		}
		assert_int_equal(*at, ']');
		at = find_enum(find_operation(route), "state");
		item_state = route->task->page.states;
		assert_int_equal(at != NULL, item_state != NULL);
		if (!at)
			continue;
		must_be(route, &at, "open");
		must_be(route, &at, "ended");
		for (; item_state->name; item_state++) {
			if (!item_state[1].name ||
				strcmp(item_state->name, item_state[1].name) != 0)
				must_be(route, &at, item_state->name);
		}
		assert_int_equal(*at, ']');
	}
}

TEST(test_routes__what_is_no_get_needs_operate_at_least)
{
	const struct vbd_router router = vbd_routes();

	for (size_t i = 0; i < router.n_routes; i++) {
		if (router.routes[i].method != VBD_METHOD_GET)
			assert_true(router.routes[i].role >= VBD_ROLE_OPERATE);
	}
}

/* --- matching -------------------------------------------------------------------------------- */

static const struct vbd_route *find(
	const char *method, const char *path, const char **ref, unsigned int *allow)
{
	static char text[256];
	static struct vbd_uri uri;
	const struct vbd_router router = vbd_routes();

	(void)snprintf(text, sizeof(text), "%s", path);
	assert_int_equal(vbd_uri_parse(text, &uri, NULL), VBD_OK);
	return vbd_router_find(&router, vbd_method_parse(method), &uri, ref, allow);
}

TEST(test_router__a_path_and_method_find_their_route_and_reference)
{
	const char *ref = "none";
	unsigned int allow;
	const struct vbd_route *route = find("POST", "/v1/connections/to%2Db/accept", &ref, &allow);

	assert_string_equal(route->operation, "accept_connection");
	assert_string_equal(ref, "to-b");
	assert_int_equal(allow, 1 << VBD_METHOD_POST | 1 << VBD_METHOD_OPTIONS);
	assert_string_equal(find("GET", "/", &ref, &allow)->operation, "page");
	route = find("GET", "/v1", &ref, &allow);
	assert_string_equal(route->operation, "index");
	assert_null(ref);
	assert_string_equal(find("HEAD", "/v1", &ref, &allow)->operation, "index");
}

TEST(test_router__an_unknown_path_has_no_methods)
{
	static const char *const paths[] = {"//", "/v1/", "/v2", "/v1/buffers/",
		"/v1/buffers//data", "/v1/buffers/1/data/", "/v1/buffers/1/date", "/V1",
		"/v1/connections/1/accept/x", "/livez/", "/assets/", "/1/2/3/4/5/6/7/8/9"};
	const char *ref;
	unsigned int allow;

	for (size_t i = 0; i < VBD_ARRAY_LEN(paths); i++) {
		allow = 1;
		assert_null(find("GET", paths[i], &ref, &allow));
		assert_int_equal(allow, 0);
	}
}

TEST(test_router__a_known_path_tells_its_methods)
{
	const char *ref;
	unsigned int allow = 0;

	assert_null(find("POST", "/v1/listeners/1", &ref, &allow));
	assert_int_equal(allow, 1 << VBD_METHOD_GET | 1 << VBD_METHOD_PATCH |
					1 << VBD_METHOD_DELETE | 1 << VBD_METHOD_OPTIONS);
	assert_null(find("BREW", "/livez", &ref, &allow));
	assert_int_equal(allow, 1 << VBD_METHOD_GET | 1 << VBD_METHOD_OPTIONS);
}

TEST(test_router__an_unknown_parameter_is_named)
{
	char text[] = "/v1/buffers?limit=1&lmit=2";
	const struct vbd_router router = vbd_routes();
	struct vbd_error err = {0};
	struct vbd_uri uri;
	const char *ref;
	unsigned int allow;
	const struct vbd_route *route;

	assert_int_equal(vbd_uri_parse(text, &uri, NULL), VBD_OK);
	route = vbd_router_find(&router, VBD_METHOD_GET, &uri, &ref, &allow);
	assert_int_equal(vbd_route_check_query(route, &uri, &err), VBD_E_UNKNOWN_FIELD);
	assert_string_equal(err.pointer, "lmit");
	assert_non_null(strstr(err.text, "limit, after, sort, fields, label, state"));
}

int main(int argc, char **argv)
{
	return unit_run(argc, argv, read_contract, NULL);
}
