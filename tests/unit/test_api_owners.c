/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of one operator are not there for another, by any route. */
#include "api/api.h"
#include "api/connections/connections.h"
#include "api/json/writer.h"
#include "daemon/connections/peer_reports.h"
#include "daemon/observe/report.h"

#include "tests/unit/client.h"
#include "tests/unit/openapi.h"

#define MISSING "424242"

static int setup(void **state)
{
	static const struct client_caller callers[] = {{"control", VBD_ROLE_CONTROL},
		{"read", VBD_ROLE_READ}, {"alice", VBD_ROLE_OPERATE}, {"bob", VBD_ROLE_OPERATE}};
	struct client *client = client_begin(false);

	client->may_not_wait = true;
	client_open(client, callers, VBD_ARRAY_LEN(callers));
	*state = client;
	return 0;
}

#define OWNERS_TEST(name) TEST_WITH(name, struct client *f, setup, client_end)

/* Returns the HTTP status; an answer that does not come at once is none. */
static unsigned int perform(struct client *f, const char *caller, enum vbd_method method,
	const char *target, const char *body, const char *type)
{
	f->type = body ? type : NULL;
	client_send(f, caller, vbd_method_name(method), target, body);
	return f->req.reply.status;
}

static unsigned int get(struct client *f, const char *caller, const char *target)
{
	return perform(f, caller, VBD_METHOD_GET, target, NULL, "");
}

static void owner_is(struct client *f, const char *caller, const char *target, const char *owner)
{
	json_t *json;

	assert_int_equal(get(f, caller, target), 200);
	json = client_document(f);
	if (owner)
		assert_string_equal(json_string_value(json_object_get(json, "owner")), owner);
	else
		assert_true(json_is_null(json_object_get(json, "owner")));
	json_decref(json);
}

static size_t count_items(struct client *f, const char *caller, const char *target)
{
	json_t *json;
	size_t count;

	assert_int_equal(get(f, caller, target), 200);
	json = client_document(f);
	count = json_array_size(json_object_get(json, "items"));
	json_decref(json);
	return count;
}

/* --- every route ----------------------------------------------------------------------------- */

/* References to things that nobody owns. */
static bool is_common(const char *plural)
{
	return strcmp(plural, "devices") == 0 || strcmp(plural, "glossary") == 0 ||
	       strcmp(plural, "assets") == 0;
}

static struct vbd_registry *registry_of(struct client *f, const struct vbd_route *route)
{
	char plural[64] = "";

	if (sscanf(route->pattern, "/v1/%63[a-z_]", plural) != 1)
		(void)sscanf(route->pattern, "/%63[a-z_]", plural);
	if (is_common(plural))
		return NULL;
	for (size_t i = 0; i < VBD_ARRAY_LEN(f->svc->daemon->registries); i++) {
		struct vbd_registry *registry = &f->svc->daemon->registries[i];

		if (registry->plural && strcmp(registry->plural, plural) == 0)
			return registry;
	}
	fail_msg("%s: no kind of object is called %s", route->pattern, plural);
	return NULL;
}

/* Bodies with which a request gets as far as its object. */
static const char *body_of(const struct vbd_route *route)
{
	static const struct {
		const char *operation, *body;
	} bodies[] = {
		{"patch_cq", "{\"depth\": 8}"},
		{"patch_srq", "{\"limit\": 1}"},
		{"patch_listener", "{\"accept\": \"auto\"}"},
		{"set_remote", "{\"qp_num\": 1}"},
		{"set_qp_state", "{\"state\": \"rtr\"}"},
		{"send_message", "{\"text\": \"x\"}"},
		{"send_ud_endpoint_message", "{\"text\": \"x\"}"},
		{"put_buffer_data", "x"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(bodies); i++) {
		if (strcmp(bodies[i].operation, route->operation) == 0)
			return bodies[i].body;
	}
	return route->body == VBD_BODY_JSON ? "{}" : NULL;
}

static void ask(struct client *f, const struct vbd_route *route, const char *ref, char reply[2048])
{
	const char *braces = strstr(route->pattern, "{ref}");
	const char *body = body_of(route);
	char target[256];
	json_t *json;
	unsigned int status;

	(void)snprintf(target, sizeof(target), "%.*s%s%s", (int)(braces - route->pattern),
		route->pattern, ref, braces + strlen("{ref}"));
	status = perform(f, "bob", route->method, target, body,
		route->body == VBD_BODY_STREAM ? "application/octet-stream" : "application/json");
	if (status != 404)
		fail_msg("%s of %s: %u %.*s", route->operation, ref, status,
			(int)f->req.reply.body_bytes, f->req.reply.body);
	json = client_document(f);
	(void)snprintf(reply, 2048, "%s %s", json_string_value(json_object_get(json, "code")),
		json_string_value(json_object_get(json, "detail")));
	json_decref(json);
}

/* The answer for what is another's is that for what is missing, but for the reference in it. */
static void must_be_missing(struct client *f, const struct vbd_route *route, const char *ref)
{
	char missing[2048], given[2048], want[2048];
	char *at;

	ask(f, route, MISSING, missing);
	ask(f, route, ref, given);
	at = strstr(missing, MISSING);
	assert_non_null(at);
	(void)snprintf(want, sizeof(want), "%.*s%s%s", (int)(at - missing), missing, ref,
		at + strlen(MISSING));
	assert_string_equal(given, want);
}

/* Put an object, of which only the head may be looked at, into its registry. @owner: NULL for the
 * daemon, as that of a configured object */
static struct vbd_object *plant_for(
	struct client *f, struct vbd_registry *registry, const char *owner, const char *name)
{
	struct vbd_object *object = calloc(1, registry->kind->size_bytes);

	assert_non_null(object);
	object->registry = registry;
	if (owner)
		object->owner = vbd_callers_get(&f->svc->daemon->callers, owner);
	vbd_list_init(&object->watches);
	vbd_list_init(&object->ended_link);
	assert_int_equal(vbd_registry_add(registry, NULL, object, name, NULL), VBD_OK);
	return object;
}

static struct vbd_object *plant(struct client *f, struct vbd_registry *registry)
{
	return plant_for(f, registry, "alice", "of-alice");
}

static void uproot(struct vbd_object *object)
{
	vbd_registry_remove(object->registry, object);
	vbd_caller_unref(object->owner);
	free(object);
}

OWNERS_TEST(test_owners__no_route_finds_what_belongs_to_another)
{
	const struct vbd_router router = vbd_routes();
	size_t count = 0;

	for (size_t i = 0; i < router.n_routes; i++) {
		const struct vbd_route *route = &router.routes[i];
		struct vbd_registry *registry;
		struct vbd_object *object;
		char id[24];

		/* Callers with the role control see the objects of all. */
		if (!strstr(route->pattern, "{ref}") || route->role == VBD_ROLE_CONTROL)
			continue;
		registry = registry_of(f, route);
		if (!registry)
			continue;
		object = plant(f, registry);
		(void)snprintf(id, sizeof(id), "%llu", (unsigned long long)object->id);
		must_be_missing(f, route, id);
		must_be_missing(f, route, "of-alice");
		uproot(object);
		count++;
	}
	assert_true(count > 40);
}

OWNERS_TEST(test_owners__a_name_that_is_nearly_right_is_told_unless_it_is_of_another)
{
	struct vbd_object *object = plant_for(f, f->svc->daemon->buffers, "bob", "hatch");

	assert_int_equal(get(f, "bob", "/v1/buffers/hacth"), 404);
	assert_true(client_says(f, "there is no buffer 'hacth'; did you mean hatch?"));
	assert_int_equal(get(f, "alice", "/v1/buffers/hacth"), 404);
	assert_true(client_says(f, "there is no buffer 'hacth'\""));
	assert_int_equal(get(f, "bob", "/v1/buffers/77"), 404);
	assert_true(client_says(f, "there is no buffer '77'\""));
	assert_int_equal(get(f, "bob", "/v1/transfers?buffer=hacth"), 400);
	assert_true(client_says(f, "there is no buffer 'hacth'; did you mean hatch?"));
	uproot(object);
}

OWNERS_TEST(test_owners__no_list_has_what_belongs_to_another)
{
	const struct vbd_router router = vbd_routes();
	size_t count = 0;

	for (size_t i = 0; i < router.n_routes; i++) {
		const struct vbd_route *route = &router.routes[i];
		struct vbd_object *object;
		size_t before;

		if (route->method != VBD_METHOD_GET || !route->task ||
			strstr(route->pattern, "{ref}") || !registry_of(f, route))
			continue;
		before = count_items(f, "bob", route->pattern);
		object = plant(f, registry_of(f, route));
		assert_int_equal(count_items(f, "bob", route->pattern), before);
		uproot(object);
		count++;
	}
	assert_true(count >= 13);
}

/* --- what is the daemon's, as configured objects ------------------------------------------------
 */

static void must_be_forbidden(struct client *f, const struct vbd_route *route, const char *ref)
{
	const char *braces = strstr(route->pattern, "{ref}");
	char target[256];
	unsigned int status;

	(void)snprintf(target, sizeof(target), "%.*s%s%s", (int)(braces - route->pattern),
		route->pattern, ref, braces + strlen("{ref}"));
	status = perform(f, "bob", route->method, target, body_of(route),
		route->body == VBD_BODY_STREAM ? "application/octet-stream" : "application/json");
	if (status != 403 || !client_says(f, "belongs to verbsd") ||
		!client_says(f, "\"forbidden\""))
		fail_msg("%s of %s: %u %.*s", route->operation, ref, status,
			(int)f->req.reply.body_bytes, f->req.reply.body);
}

/* Contents, descriptors and messages are for whoever may use the object; readers see the rest. */
static bool only_shows(const struct vbd_route *route)
{
	return route->method == VBD_METHOD_GET && route->role == VBD_ROLE_READ;
}

OWNERS_TEST(test_owners__no_route_but_those_for_readers_takes_what_is_the_daemons)
{
	const struct vbd_router router = vbd_routes();
	size_t count = 0;

	for (size_t i = 0; i < router.n_routes; i++) {
		const struct vbd_route *route = &router.routes[i];
		struct vbd_registry *registry;
		struct vbd_object *object;
		char id[24];

		if (!strstr(route->pattern, "{ref}") || route->role != VBD_ROLE_OPERATE ||
			only_shows(route))
			continue;
		registry = registry_of(f, route);
		object = plant_for(f, registry, NULL, "of-verbsd");
		(void)snprintf(id, sizeof(id), "%llu", (unsigned long long)object->id);
		must_be_forbidden(f, route, id);
		must_be_forbidden(f, route, "of-verbsd");
		uproot(object);
		count++;
	}
	assert_true(count > 30);
}

/* --- every reference in a body -----------------------------------------------------------------
 */

/* Requests that reach each member of the type Ref; "@" is the reference. The objects "own" are the
 * caller's. */
static const struct {
	const char *schema, *member, *target, *body;
} references[] = {
	{"SrqCreate", "pd", "/v1/srqs", "{\"pd\": \"@\"}"},
	{"SrqCreate", "cq", "/v1/srqs", "{\"cq\": \"@\"}"},
	{"BufferCreate", "pd", "/v1/buffers", "{\"size_bytes\": 4096, \"pd\": \"@\"}"},
	{"BufferCreate", "pd", "/v1/buffers",
		"{\"size_bytes\": 4096, \"pd\": \"@\", \"name\": \"b\", \"keep\": true}"},
#define QP_REFERENCE(member_)                                                                   \
	{"QpParams", member_, "/v1/listeners",                                                  \
		"{\"addr\": \"0.0.0.0\", \"qp\": {\"" member_ "\": \"@\"}}"},                   \
		{"QpParams", member_, "/v1/connections",                                        \
			"{\"dst_addr\": \"127.0.0.1\", \"dst_port\": 7471, \"qp\": {\"" member_ \
			"\": \"@\"}}"},                                                         \
	{                                                                                       \
		"QpParams", member_, "/v1/connection_batches",                                  \
			"{\"connections\": [{\"dst_addr\": \"127.0.0.1\", \"dst_port\": 7471, " \
			"\"qp\": {\"" member_ "\": \"@\"}}]}"                                   \
	}
	QP_REFERENCE("pd"),
	QP_REFERENCE("cq"),
	QP_REFERENCE("srq"),
	{"UdQpParams", "pd", "/v1/ud_endpoints", "{\"qp\": {\"pd\": \"@\"}}"},
	{"UdQpParams", "cq", "/v1/ud_endpoints", "{\"qp\": {\"cq\": \"@\"}}"},
	{"UdMessageSend", "ud_peer", "/v1/ud_endpoints/own/messages",
		"{\"data\": \"x\", \"ud_peer\": \"@\"}"},
	{"UdMessageSend", "multicast_membership", "/v1/ud_endpoints/own/messages",
		"{\"data\": \"x\", \"multicast_membership\": \"@\"}"},
	{"UdPeerCreate", "ud_endpoint", "/v1/ud_peers",
		"{\"ud_endpoint\": \"@\", \"dst_addr\": \"127.0.0.1\", \"dst_port\": 1}"},
	{"MulticastMembershipCreate", "ud_endpoint", "/v1/multicast_memberships",
		"{\"ud_endpoint\": \"@\", \"addr\": \"239.0.0.1\"}"},
#define SEND "\"op\": \"send\", \"length_bytes\": 0"
	{"TransferCreate", "connection", "/v1/transfers", "{" SEND ", \"connection\": \"@\"}"},
	{"TransferCreate", "connection", "/v1/transfers",
		"{" SEND ", \"connection\": \"@\", \"if_not_established\": \"wait\"}"},
	{"TransferCreate", "connection", "/v1/transfer_batches",
		"{\"transfers\": [{" SEND ", \"connection\": \"@\"}]}"},
	{"TransferCreate", "ud_endpoint", "/v1/transfers", "{" SEND ", \"ud_endpoint\": \"@\"}"},
	{"TransferCreate", "ud_peer", "/v1/transfers",
		"{" SEND ", \"ud_endpoint\": \"own\", \"ud_peer\": \"@\"}"},
	{"TransferCreate", "multicast_membership", "/v1/transfers",
		"{" SEND ", \"ud_endpoint\": \"own\", \"multicast_membership\": \"@\"}"},
	{"TransferCreate", "buffer", "/v1/transfers",
		"{\"op\": \"send\", \"connection\": \"own\", \"buffer\": \"@\"}"},
	{"TransferCreate", "buffer", "/v1/transfers",
		"{\"op\": \"send\", \"connection\": \"own\", \"sges\": [{\"buffer\": \"@\"}]}"},
	{"BenchmarkCreate", "connection", "/v1/benchmarks",
		"{\"connection\": \"@\", \"op\": \"send\", \"size_bytes\": 8, \"count\": 1}"},
	{"BenchmarkCreate", "buffer", "/v1/benchmarks",
		"{\"connection\": \"own\", \"op\": \"send\", \"size_bytes\": 8, \"count\": 1, "
		"\"buffer\": "
		"\"@\"}"},
	{"CopyEndInput", "export", "/v1/copies",
		"{\"source\": {\"export\": \"@\"}, "
		"\"destination\": {\"export\": \"x\", \"addr\": \"127.0.0.1\", \"port\": 1}}"},
	{"ProbeCreate", "connection", "/v1/probes", "{\"connection\": \"@\"}"},
	{"WindowCreate", "buffer", "/v1/windows",
		"{\"buffer\": \"@\", \"type\": 1, \"access\": [\"remote_read\"]}"},
	{"WindowCreate", "connection", "/v1/windows",
		"{\"buffer\": \"own\", \"connection\": \"@\", \"type\": 2, \"access\": "
		"[\"remote_read\"]}"},
	/* The role control only makes faults, and may use every object. */
	{"FaultCreate", "target", NULL, NULL},
};

static void refer(struct client *f, size_t i, const char *ref, unsigned int want, const char *text)
{
	char body[256];
	unsigned int status;

	(void)snprintf(body, sizeof(body), "%.*s%s%s", (int)strcspn(references[i].body, "@"),
		references[i].body, ref, strchr(references[i].body, '@') + 1);
	status = perform(f, "bob", VBD_METHOD_POST, references[i].target, body, "application/json");
	if (status != want || !client_says(f, text) || !client_says(f, ref))
		fail_msg("%s %s: %u %.*s", references[i].target, body, status,
			(int)f->req.reply.body_bytes, f->req.reply.body);
}

static void check_reference(const char *schema, const char *member, void *arg)
{
	size_t count = 0;

	for (size_t i = 0; i < VBD_ARRAY_LEN(references); i++) {
		if (strcmp(references[i].schema, schema) != 0 ||
			strcmp(references[i].member, member) != 0)
			continue;
		count++;
		if (!references[i].target)
			continue;
		refer(arg, i, "of-verbsd", 403, "belongs to verbsd");
		refer(arg, i, "of-alice", 404, "there is no");
	}
	if (!count)
		fail_msg("%s.%s is a reference to an object: give references[] of this test a "
			 "request that has one there, so that the test can try those of others",
			schema, member);
}

/* All of a planted object but its head is zero. */
static void assert_untouched(const struct vbd_object *object)
{
	const uint8_t *bytes = (const uint8_t *)object;

	assert_false(object->ended || object->deleted || object->version);
	for (size_t i = sizeof(*object); i < object->registry->kind->size_bytes; i++)
		assert_int_equal(bytes[i], 0);
}

/* Every connection and endpoint has an RDMA side. These are zero: no request gets as far as them.
 */
static struct vbd_conn conn_of_planted;
static struct vbd_endpoint endpoint_of_planted;

static void set_rdma_side(
	struct vbd_object *object, struct vbd_conn *conn, struct vbd_endpoint *endpoint)
{
	if (object->registry->kind == object->registry->daemon->connections->kind)
		VBD_CONTAINER_OF(object, struct vbd_connection, object)->conn = conn;
	if (object->registry->kind == object->registry->daemon->ud_endpoints->kind)
		VBD_CONTAINER_OF(object, struct vbd_endpoint_record, object)->endpoint = endpoint;
}

/* The members come from the contract: a new one can't be forgotten. */
OWNERS_TEST(test_owners__no_reference_of_a_body_takes_what_belongs_to_another)
{
	static const char *const owners[] = {"bob", "alice", NULL};
	static const char *const names[] = {"own", "of-alice", "of-verbsd"};
	struct vbd_object *planted[VBD_KIND_COUNT][VBD_ARRAY_LEN(names)] = {0};

	for (size_t kind = 0; kind < VBD_KIND_COUNT; kind++) {
		struct vbd_registry *registry = &f->svc->daemon->registries[kind];

		for (size_t i = 0; registry->kind && i < VBD_ARRAY_LEN(names); i++) {
			planted[kind][i] = plant_for(f, registry, owners[i], names[i]);
			set_rdma_side(planted[kind][i], &conn_of_planted, &endpoint_of_planted);
		}
	}
	openapi_each_ref(check_reference, f);
	for (size_t kind = 0; kind < VBD_KIND_COUNT; kind++) {
		for (size_t i = 0; planted[kind][0] && i < VBD_ARRAY_LEN(names); i++) {
			set_rdma_side(planted[kind][i], NULL, NULL);
			assert_untouched(planted[kind][i]);
			uproot(planted[kind][i]);
		}
	}
}

/* --- what is shared ----------------------------------------------------------------------------
 */

static bool shows(struct client *f, const char *caller, const char *target, const char *member)
{
	assert_int_equal(get(f, caller, target), 200);
	return client_says(f, member);
}

OWNERS_TEST(test_owners__keys_of_what_is_the_daemons_are_not_shown)
{
	struct vbd_buffer *buffer = svc_buffer(f->svc, "pool", 4096, VBD_ACCESS_REMOTE_WRITE);
	char target[64];

	assert_null(buffer->object.owner);
	(void)snprintf(
		target, sizeof(target), "/v1/buffers/%llu", (unsigned long long)buffer->object.id);
	assert_false(shows(f, "bob", target, "\"rkey\""));
	assert_false(shows(f, "bob", "/v1/buffers?fields=*", "\"rkey\""));
	assert_false(shows(f, "bob", "/v1/buffers?fields=rkey,addr", "\"addr\""));
	assert_true(shows(f, "control", target, "\"rkey\""));
	buffer->object.shared = true;
	assert_true(shows(f, "bob", target, "\"rkey\""));
	assert_true(shows(f, "bob", "/v1/buffers?fields=*", "\"rkey\""));
	assert_false(shows(f, "read", target, "\"rkey\""));
}

static unsigned int make_shared(struct client *f, const char *caller)
{
	static const char body[] = "{\"name\": \"pool\", \"size_bytes\": 4096, \"share\": "
				   "\"operators\"}";
	unsigned int status;

	f->may_not_wait = false;
	status = perform(f, caller, VBD_METHOD_POST, "/v1/buffers", body, "application/json");
	if (!status)
		SVC_UNTIL(f->svc, f->req.reply.status);
	f->may_not_wait = true;
	return f->req.reply.status;
}

OWNERS_TEST(test_owners__what_is_shared_is_used_and_not_changed)
{
	static const char stream[] = "application/octet-stream";
	static const char data[] = "/v1/buffers/pool/data";

	assert_int_equal(make_shared(f, "bob"), 403);
	assert_true(client_says(f, "/share"));
	assert_int_equal(make_shared(f, "control"), 201);
	owner_is(f, "bob", "/v1/buffers/pool", NULL);
	assert_true(shows(f, "bob", "/v1/buffers/pool", "\"share\":\"operators\""));
	assert_int_equal(perform(f, "bob", VBD_METHOD_PUT, data, "x", stream), 200);
	assert_int_equal(get(f, "alice", data), 200);
	assert_int_equal(get(f, "read", data), 403);
	assert_int_equal(perform(f, "bob", VBD_METHOD_DELETE, "/v1/buffers/pool", NULL, ""), 403);
	assert_int_equal(
		perform(f, "control", VBD_METHOD_DELETE, "/v1/buffers/pool", NULL, ""), 204);
}

/* --- one object ------------------------------------------------------------------------------ */

static unsigned int make_pd(struct client *f, const char *caller, const char *name)
{
	char body[160];

	(void)snprintf(
		body, sizeof(body), "{\"name\": \"%s\", \"labels\": {\"job\": \"x\"}}", name);
	return perform(f, caller, VBD_METHOD_POST, "/v1/pds", body, "application/json");
}

OWNERS_TEST(test_owners__an_object_belongs_to_who_made_it)
{
	assert_int_equal(make_pd(f, "alice", "mine"), 201);
	owner_is(f, "alice", "/v1/pds/mine", "alice");
	owner_is(f, "control", "/v1/pds/mine", "alice");
	owner_is(f, "read", "/v1/pds/mine", "alice");
	assert_int_equal(get(f, "bob", "/v1/pds/mine"), 404);
	assert_int_equal(perform(f, "bob", VBD_METHOD_DELETE, "/v1/pds/mine", NULL, ""), 404);
	assert_int_equal(perform(f, "alice", VBD_METHOD_DELETE, "/v1/pds/mine", NULL, ""), 204);
}

OWNERS_TEST(test_owners__a_name_of_another_is_taken_without_details)
{
	json_t *json;

	assert_int_equal(make_pd(f, "alice", "mine"), 201);
	assert_int_equal(make_pd(f, "bob", "mine"), 409);
	json = client_document(f);
	assert_string_equal(json_string_value(json_object_get(json, "code")), "name_taken");
	assert_string_equal(
		json_string_value(json_object_get(json, "detail")), "the name 'mine' is taken");
	assert_false(client_says(f, "/v1/pds/"));
	json_decref(json);
	assert_int_equal(make_pd(f, "alice", "mine"), 409);
	assert_true(client_says(f, "/v1/pds/"));
}

OWNERS_TEST(test_owners__what_is_the_daemons_is_seen_and_not_changed)
{
	char target[64];
	uint64_t id;

	/* A device has a protection domain of its own. */
	id = vbd_registry_after(f->svc->daemon->pds, 0)->id;
	(void)snprintf(target, sizeof(target), "/v1/pds/%llu", (unsigned long long)id);
	owner_is(f, "bob", target, NULL);
	assert_int_equal(perform(f, "bob", VBD_METHOD_DELETE, target, NULL, ""), 403);
	assert_non_null(vbd_registry_find_id(f->svc->daemon->pds, id));
}

static unsigned int make_listener(struct client *f, const char *caller, const char *pd)
{
	char body[160];

	(void)snprintf(body, sizeof(body),
		"{\"addr\": \"0.0.0.0\", \"port\": 0, \"labels\": {\"job\": \"x\"}, \"qp\": "
		"{\"pd\": \"%s\"}}",
		pd);
	return perform(f, caller, VBD_METHOD_POST, "/v1/listeners", body, "application/json");
}

static void deletion_tells(
	struct client *f, const char *caller, size_t n_users, const char *last, const char *detail)
{
	json_t *json, *users;

	assert_int_equal(perform(f, caller, VBD_METHOD_DELETE, "/v1/pds/mine", NULL, ""), 409);
	json = client_document(f);
	users = json_object_get(json, "users");
	assert_int_equal(json_array_size(users), n_users);
	assert_string_equal(json_string_value(json_array_get(users, n_users - 1)), last);
	assert_non_null(strstr(json_string_value(json_object_get(json, "detail")), detail));
	json_decref(json);
}

/* The owner of a thing may learn that others use it, so that it knows why it stays; no more. */
OWNERS_TEST(test_owners__users_of_other_callers_are_counted_only)
{
	assert_int_equal(make_pd(f, "alice", "mine"), 201);
	assert_int_equal(make_listener(f, "alice", "mine"), 201);
	deletion_tells(f, "alice", 1, "/v1/listeners/1", "has 1 user");
	assert_false(client_says(f, "1 users"));
	assert_false(client_says(f, "other callers"));
	assert_int_equal(make_listener(f, "control", "mine"), 201);
	deletion_tells(f, "alice", 1, "/v1/listeners/1", "has 2 users; 1 of other callers");
	deletion_tells(f, "control", 2, "/v1/listeners/2", "has 2 users");
	assert_false(client_says(f, "other callers"));
}

static void delete_selected(struct client *f, const char *caller)
{
	json_t *json;

	f->may_not_wait = false;
	(void)perform(f, caller, VBD_METHOD_DELETE, "/v1/objects?kind=pd&label=job=x", NULL, "");
	SVC_UNTIL(f->svc, f->req.reply.status);
	f->may_not_wait = true;
	assert_int_equal(f->req.reply.status, 200);
	json = client_document(f);
	assert_int_equal(json_integer_value(json_object_get(json, "selected")), 1);
	assert_int_equal(json_integer_value(json_object_get(json, "done")), 1);
	json_decref(json);
}

OWNERS_TEST(test_owners__a_selection_has_only_ones_own)
{
	assert_int_equal(make_pd(f, "alice", "mine"), 201);
	assert_int_equal(make_pd(f, "bob", "his"), 201);
	delete_selected(f, "bob");
	assert_int_equal(get(f, "bob", "/v1/pds/his"), 404);
	assert_int_equal(get(f, "alice", "/v1/pds/mine"), 200);
	delete_selected(f, "control");
	assert_int_equal(get(f, "alice", "/v1/pds/mine"), 404);
}

static size_t count_events(struct client *f, const char *caller)
{
	return count_items(f, caller, "/v1/events?type=pd_created&object=pd&limit=1000");
}

OWNERS_TEST(test_owners__events_of_another_are_not_told)
{
	size_t bobs = count_events(f, "bob"), alices = count_events(f, "alice");
	size_t all = count_events(f, "control");

	assert_int_equal(make_pd(f, "alice", "mine"), 201);
	assert_int_equal(count_events(f, "bob"), bobs);
	assert_int_equal(count_events(f, "alice"), alices + 1);
	assert_int_equal(count_events(f, "control"), all + 1);
}

#define MARK "secret-mark"

/* Makes objects of alice with marks, one that has gone among them, and a connection of bob that
 * alice has accepted. */
static void mark(struct client *f)
{
	struct svc *svc = f->svc;
	struct vbd_callers *callers = &svc->daemon->callers;
	struct vbd_caller *alice = vbd_callers_get(callers, "alice");
	struct vbd_caller *bob = vbd_callers_get(callers, "bob");
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_listener *listener;
	struct vbd_buffer *gone;
	struct svc_pair pair;

	(void)snprintf(spec.name, sizeof(spec.name), "%s", MARK "-listener");
	svc->origin.caller = alice;
	listener = svc_listen(svc, &spec);
	(void)svc_buffer(svc, MARK "-buffer", 7654321, VBD_ACCESS_REMOTE_WRITE);
	gone = svc_buffer(svc, MARK "-gone", 7654321, VBD_ACCESS_REMOTE_WRITE);
	svc->origin.caller = bob;
	pair = svc_pair(svc, listener);
	pair = svc_pair(svc, listener);
	svc->origin.caller = NULL;
	assert_int_equal(vbd_buffer_delete(gone, &svc->err), VBD_OK);
	SVC_UNTIL(svc, svc->daemon->pool_jobs == 0);
	/* The device refuses what alice's side asks of bob's memory. */
	fake_qp_to_err(pair.active->conn->qp.ibv_qp);
	SVC_UNTIL(svc, pair.active->object.ended && !pair.active->keeping);
	svc->origin.caller = bob;
	(void)svc_buffer(svc, "his", 64, VBD_ACCESS_REMOTE_WRITE);
	svc->origin.caller = NULL;
	vbd_caller_unref(alice);
	vbd_caller_unref(bob);
}

static void must_not_tell(struct client *f, const char *target)
{
	static const char *const marks[] = {MARK, "alice", "7654321"};

	f->may_not_wait = false;
	(void)get(f, "bob", target);
	SVC_UNTIL(f->svc, f->req.reply.status);
	f->may_not_wait = true;
	for (size_t i = 0; i < VBD_ARRAY_LEN(marks); i++) {
		if (client_says(f, marks[i]))
			fail_msg("GET %s has %s: %.*s", target, marks[i],
				(int)f->req.reply.body_bytes, f->req.reply.body);
	}
}

/* Reads a route for each object that bob sees. */
static size_t read_each(struct client *f, const struct vbd_route *route)
{
	const char *braces = strstr(route->pattern, "{ref}");
	struct vbd_registry *registry = registry_of(f, route);
	const struct vbd_caller *bob = f->req.caller;
	char target[256];
	size_t count = 0;

	if (!registry)
		return 0;
	vbd_registry_for_each (object, registry) {
		if (!vbd_caller_sees(bob, object->owner))
			continue;
		(void)snprintf(target, sizeof(target), "%.*s%" PRIu64 "%s",
			(int)(braces - route->pattern), route->pattern, object->id,
			braces + strlen("{ref}"));
		must_not_tell(f, target);
		count++;
	}
	return count;
}

/* Files of the dashboard are the same for everybody, and the numbers are in unit.test_api_scrape.
 */
static bool is_elsewhere(const struct vbd_route *route)
{
	return strcmp(route->pattern, "/") == 0 || strstr(route->pattern, "assets") ||
	       strstr(route->pattern, "metrics") || strstr(route->pattern, "stats");
}

OWNERS_TEST(test_owners__no_answer_has_a_mark_of_another)
{
	const struct vbd_router router = vbd_routes();
	size_t count = 0;

	mark(f);
	for (size_t i = 0; i < router.n_routes; i++) {
		const struct vbd_route *route = &router.routes[i];

		if (route->method != VBD_METHOD_GET || route->role == VBD_ROLE_CONTROL ||
			strstr(route->pattern, "stream") || is_elsewhere(route))
			continue;
		if (strstr(route->pattern, "{ref}")) {
			assert_int_equal(get(f, "bob", "/v1/pds"), 200);
			count += read_each(f, route);
			continue;
		}
		must_not_tell(f, route->pattern);
		count++;
	}
	assert_in_range(count, 40, 400);
}

/* Alice's write over a connection of the daemon, with marks; the device there refuses it. */
static uint64_t refused_write(struct svc *svc, struct svc_pair pair)
{
	struct vbd_caller *alice = vbd_callers_get(&svc->daemon->callers, "alice");
	struct vbd_transfer_spec spec = {
		.origin.caller = alice,
		.qp = &pair.active->conn->qp,
		.op = VBD_OP_WRITE,
		.length_bytes = 7654321,
		.chunk_bytes = 7654321,
		.wr.remote_addr = 0xdeadbeef000,
		.wr.rkey = 0xabc,
		.timeout_ms = 30000,
	};
	struct vbd_transfer_record *record = NULL;

	svc->origin.caller = alice;
	spec.buffer = svc_buffer(svc, "", 7654321, 0);
	svc->origin.caller = NULL;
	assert_int_equal(vbd_transfer_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	SVC_UNTIL(svc, pair.active->object.ended && !pair.active->keeping);
	SVC_UNTIL(svc, pair.passive->object.ended && !pair.passive->keeping);
	vbd_caller_unref(alice);
	return record->object.id;
}

static bool explanation_says(struct client *f, const char *caller,
	const struct vbd_connection *connection, const char *text)
{
	char target[64];

	(void)snprintf(target, sizeof(target), "/v1/connections/%" PRIu64 "/explain",
		connection->object.id);
	f->may_not_wait = false;
	(void)get(f, caller, target);
	SVC_UNTIL(f->svc, f->req.reply.status);
	f->may_not_wait = true;
	assert_int_equal(f->req.reply.status, 200);
	return client_says(f, text);
}

/* The row of the connection, which is read after a restart. */
static bool row_says(const struct vbd_connection *connection, const char *text)
{
	struct vbd_encoder out = vbd_encode_begin();
	size_t len = 0;
	char *bytes;
	bool found;

	vbd_put_past_explanation(&out, connection);
	bytes = vbd_encode_end(&out, &len);
	assert_non_null(bytes);
	found = memmem(bytes, len, text, strlen(text)) != NULL;
	free(bytes);
	return found;
}

/* An RC queue pair goes to ERR with the first request that fails, whoever made the request. */
OWNERS_TEST(test_owners__a_write_that_fails_ends_what_is_shared)
{
	struct svc_pair pair = svc_pair(f->svc, svc_listen(f->svc, NULL));
	char target[64], transfer[64];
	uint64_t id;

	pair.active->object.shared = true;
	(void)snprintf(target, sizeof(target), "/v1/connections/%" PRIu64, pair.active->object.id);
	assert_int_equal(perform(f, "alice", VBD_METHOD_DELETE, target, NULL, ""), 403);
	assert_false(pair.active->object.ended);
	id = refused_write(f->svc, pair);
	assert_int_equal(pair.active->conn->qp.reason, VBD_REASON_REMOTE_ACCESS);
	assert_true(explanation_says(f, "control", pair.active, "\"transfer\":"));
	(void)snprintf(transfer, sizeof(transfer), "/v1/transfers/%" PRIu64, id);
	assert_true(shows(f, "control", transfer, "\"owner\":\"alice\""));
}

OWNERS_TEST(test_owners__an_explanation_has_no_request_of_another)
{
	struct vbd_caller *alice = vbd_callers_get(&f->svc->daemon->callers, "alice");

	for (int shared = 0; shared < 2; shared++) {
		struct svc_pair pair = svc_pair(f->svc, svc_listen(f->svc, NULL));
		uint64_t id;

		pair.active->object.shared = pair.passive->object.shared = shared;
		id = refused_write(f->svc, pair);
		for (int deleted = 0; deleted < 2; deleted++) {
			assert_false(explanation_says(f, "bob", pair.active, "7654321"));
			assert_false(
				client_says(f, "0xdeadbeef000") || client_says(f, "0x00000abc"));
			assert_true(client_says(f, "\"request\":null"));
			assert_true(explanation_says(f, "alice", pair.active, "7654321"));
			assert_int_equal(client_says(f, "0xdeadbeef000"), shared);
			assert_true(explanation_says(f, "read", pair.active, "7654321"));
			assert_true(explanation_says(f, "control", pair.active, "0xdeadbeef000"));
			assert_false(row_says(pair.active, "7654321"));
			pair.active->object.owner = alice;
			assert_true(row_says(pair.active, "7654321"));
			pair.active->object.owner = NULL;
			if (!deleted)
				vbd_object_free(
					vbd_registry_find_id(f->svc->daemon->transfers, id));
		}
	}
	vbd_caller_unref(alice);
}

/* The verdict on what the peer asked of memory tells whether a key is one. */
OWNERS_TEST(test_owners__what_a_peer_asked_of_the_daemons_memory_is_not_told)
{
	for (int shared = 0; shared < 2; shared++) {
		struct svc_pair pair = svc_pair(f->svc, svc_listen(f->svc, NULL));
		struct vbd_peer_report *report;

		pair.active->object.shared = pair.passive->object.shared = shared;
		(void)refused_write(f->svc, pair);
		vbd_report_take(pair.passive, &(struct vbd_report){.op = -1});
		report = pair.passive->peer_report;
		report->memory = VBD_REPORT_MEMORY_PAST_END;
		report->over_bytes = 918273645;
		report->theirs = (struct vbd_report){.known = true,
			.op = VBD_OP_WRITE,
			.length_bytes = 7654321,
			.remote_addr = 0xdeadbeef000,
			.rkey = 0xabc};
		assert_false(explanation_says(f, "bob", pair.passive, "past_end"));
		assert_false(client_says(f, "918273645") || client_says(f, "7654321") ||
			     client_says(f, "0xdeadbeef000") || client_says(f, "0x00000abc"));
		assert_true(explanation_says(f, "control", pair.passive, "past_end"));
		assert_true(client_says(f, "918273645") && client_says(f, "0x00000abc"));
		assert_false(row_says(pair.passive, "past_end"));
	}
}

/* A repeat of alice's request by bob must neither get her answer nor tell that there is one. */
OWNERS_TEST(test_owners__an_idempotency_key_is_the_callers_own)
{
	f->key = "k";
	assert_int_equal(make_pd(f, "alice", "mine"), 201);
	assert_int_equal(make_pd(f, "bob", "mine"), 409);
	assert_true(client_says(f, "name_taken"));
	assert_int_equal(make_pd(f, "alice", "mine"), 201);
}

/* A request counts for who sends it, also one that the role does not allow. */
OWNERS_TEST(test_owners__requests_beyond_the_quota_are_refused)
{
	struct vbd_caller *reader = vbd_callers_get(&f->svc->daemon->callers, "read");

	assert_non_null(reader);
	assert_int_equal(get(f, "read", "/v1/pds"), 200);
	reader->quotas.requests_per_s = 1;
	assert_int_equal(make_pd(f, "read", "mine"), 403);
	assert_true(reader->requests_full_ns > 0);
	reader->requests_full_ns = UINT64_MAX / 2;
	assert_int_equal(get(f, "read", "/v1/pds"), 429);
	assert_true(client_says(f, "\"throttled\""));
	assert_true(client_says(f, "\"requests_per_s\""));
	assert_int_equal(get(f, "bob", "/v1/pds"), 200);
	reader->requests_full_ns = 0;
	assert_int_equal(get(f, "read", "/v1/pds"), 200);
	vbd_caller_unref(reader);
}
