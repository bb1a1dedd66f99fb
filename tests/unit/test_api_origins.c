/* SPDX-License-Identifier: Apache-2.0 */
/* Each object belongs to the caller that asked for the object, and has the labels of that request,
 * whoever else asks at the same time. */
#include "api/api.h"
#include "daemon/copies/exports.h"
#include "daemon/config/config.h"
#include "daemon/core/labels.h"
#include "daemon/kept/reconciler.h"
#include "tests/unit/rest.h"
#include "tests/unit/transport.h"

#define CALLERS 3

/* The label "by" of what each of them makes is its name. */
static const char *const callers[CALLERS] = {"alice", "bob", "control"};

/* The daemon makes an export, so its name says that. */
static void export_folder(struct rest *rest)
{
	struct vbd_export_spec spec;
	const struct vbd_export *export;

	memset(&spec, 0, sizeof(spec));
	(void)strcpy(spec.name, "of-verbsd");
	(void)strcpy(spec.path, "/");
	spec.access = VBD_EXPORT_READ;
	vbd_exports_use(rest->svc->daemon, &spec, 1);
	export = svc_find(rest->svc->daemon->exports, spec.name, &rest->svc->err);
	assert_non_null(export);
	SVC_UNTIL(rest->svc, export->state == VBD_EXPORT_READY);
}

static void begin(struct rest *rest)
{
	const struct vbd_config_specs specs = {0};
	struct vbd_caller_list list = {0};

	unit_add_caller(&list, "alice", VBD_ROLE_OPERATE);
	unit_add_caller(&list, "bob", VBD_ROLE_OPERATE);
	unit_add_caller(&list, "control", VBD_ROLE_CONTROL);
	assert_int_equal(vbd_api_use_callers(rest->api, &list, &rest->svc->err), VBD_OK);
	vbd_caller_list_fini(&list);
	vbd_api_keep(rest->api, &specs);
	rest->svc->config.fault_injection = true;
	export_folder(rest);
}

/* --- requests of all callers at a time ------------------------------------------------------- */

/* Copies @text with the caller's name for @, and " for '. */
static void fill(const char *text, const char *caller, char *filled, size_t room_bytes)
{
	size_t at = 0;

	for (; *text; text++) {
		if (*text == '@')
			at += (size_t)snprintf(filled + at, room_bytes - at, "%s", caller);
		else
			filled[at++] = *text == '\'' ? '"' : *text;
		assert_true(at < room_bytes);
	}
	filled[at] = '\0';
}

static int send_as(struct rest *rest, const char *caller, const char *method, const char *path,
	const char *body)
{
	char headers[128], filled_path[128], filled[1024];
	int fd;

	(void)snprintf(headers, sizeof(headers), REST_WAIT "Authorization: Bearer %s\r\n", caller);
	fill(path, caller, filled_path, sizeof(filled_path));
	fill(body, caller, filled, sizeof(filled));
	rest->headers = headers;
	fd = rest_send(rest, method, filled_path, filled);
	rest->headers = REST_WAIT;
	return fd;
}

/* The answer is the object of @caller. */
static void receive_as(struct rest *rest, const char *caller, int fd, bool labelled)
{
	int status = rest_receive(rest, fd);
	const char *body = strstr(rest->reply, "\r\n\r\n");
	json_t *json = body ? json_loads(body, 0, NULL) : NULL;
	char wanted[128];

	if (status != 201 && status != 202)
		fail_msg("%s got %d: %s", caller, status, rest->reply);
	(void)snprintf(wanted, sizeof(wanted),
		labelled ? "{'owner':'%s','labels':{'by':'%s'}}" : "{'owner':'%s','labels':{}}",
		caller, caller);
	rest_expect(json, wanted);
	json_decref(json);
}

/* --- the rule -------------------------------------------------------------------------------- */

static const char *label_of(const struct vbd_object *object)
{
	return object->labels ? object->labels->items[0].value : "";
}

/* The objects of a registry that @caller has made with its label. */
static size_t count_of(const struct vbd_registry *registry, const char *caller)
{
	size_t count = 0;

	vbd_registry_for_each (object, registry)
		count += strcmp(label_of(object), caller) == 0;
	return count;
}

/* Only the fabric's PDs and CQs, and objects with such a name, are of verbsd itself. Only messages,
 * which are transfers, can have an owner and no label. */
static bool is_right(const struct vbd_object *object)
{
	enum vbd_object_kind kind = vbd_registry_kind(object->registry);
	const char *label = label_of(object);

	if (!object->owner && !label[0])
		return kind == VBD_KIND_PD || kind == VBD_KIND_CQ || strstr(object->name, "verbsd");
	if (object->shared)
		return !object->owner && strcmp(label, "control") == 0;
	return object->owner && (strcmp(label, object->owner->name) == 0 ||
					(!label[0] && kind == VBD_KIND_TRANSFER));
}

static void check_all(const struct rest *rest)
{
	const struct vbd_daemon *daemon = rest->svc->daemon;

	for (size_t i = 0; i < VBD_ARRAY_LEN(daemon->registries); i++) {
		const struct vbd_registry *registry = &daemon->registries[i];

		if (!registry->kind)
			continue;
		vbd_registry_for_each (object, registry) {
			if (!is_right(object))
				fail_msg("%s %s: of %s, shared %d, by %s", registry->singular,
					object->name, object->owner ? object->owner->name : "-",
					object->shared, label_of(object));
		}
	}
}

/* --- every POST that makes an object --------------------------------------------------------- */

/* A way to make objects. The members "labels" are put before those of @body. */
struct way {
	const char *pattern, *path; /* of the route; of the request, NULL: the same */
	const char *body;
	bool unlabelled;
	bool of_control; /* the role control is needed */
};

#define TO_DOOR "'dst_addr':'10.0.0.1','dst_port':7471"
#define SEND	"'op':'send','connection':'c-@','buffer':'b-@','length_bytes':8"

/* The later ones use what the earlier ones have made. */
static const struct way ways[] = {
	{.pattern = "/v1/pds", .body = "'name':'p-@'"},
	{.pattern = "/v1/cqs", .body = "'name':'q-@','cqe':64"},
	{.pattern = "/v1/srqs", .body = "'name':'s-@','pd':'p-@'"},
	{.pattern = "/v1/buffers",
		.body = "'name':'b-@','size_bytes':4096,'access':['remote_read','mw_bind']"},
	{.pattern = "/v1/buffers", .body = "'name':'kb-@','size_bytes':4096,'keep':true"},
	{.pattern = "/v1/listeners", .body = "'name':'l-@','addr':'10.0.0.1','port':0"},
	{.pattern = "/v1/listeners",
		.body = "'name':'kl-@','addr':'10.0.0.1','port':0,'keep':true"},
	{.pattern = "/v1/connections", .body = "'name':'c-@'," TO_DOOR},
	{.pattern = "/v1/connections", .body = "'name':'kc-@','keep':true," TO_DOOR},
	{.pattern = "/v1/connections", .body = "'name':'m-@','bringup':'manual'"},
	{.pattern = "/v1/connection_batches",
		.body = "'count':200,'connections':[{'name':'n-@'," TO_DOOR "}]"},
	{.pattern = "/v1/ud_endpoints", .body = "'name':'e-@'"},
	{.pattern = "/v1/ud_peers",
		.body = "'name':'p-@','ud_endpoint':'e-@','gid':'fe80::1','qpn':5"},
	{.pattern = "/v1/multicast_memberships", .body = "'ud_endpoint':'e-@','addr':'239.1.2.3'"},
	{.pattern = "/v1/transfers", .body = SEND},
	{.pattern = "/v1/transfer_batches", .body = "'transfers':[{" SEND "},{" SEND "}]"},
	{.pattern = "/v1/benchmarks",
		.body = "'connection':'c-@','op':'send','size_bytes':8,'count':4"},
	{.pattern = "/v1/probes",
		.body = "'connection':'c-@','kind':'ack','count':1,'interval_ms':0"},
	{.pattern = "/v1/copies",
		.body = "'source':{'export':'of-verbsd','path':'etc/passwd'},"
			"'destination':{'export':'x','addr':'10.0.0.1','port':7471}"},
	{.pattern = "/v1/windows",
		.body = "'buffer':'b-@','connection':'c-@','type':1,'access':['remote_read']"},
	{.pattern = "/v1/connections/{ref}/messages",
		.path = "/v1/connections/c-@/messages",
		.body = "'data':'x'",
		.unlabelled = true},
	{.pattern = "/v1/ud_endpoints/{ref}/messages",
		.path = "/v1/ud_endpoints/e-@/messages",
		.body = "'ud_peer':'p-@','data':'x'",
		.unlabelled = true},
	{.pattern = "/v1/faults",
		.body = "'effect':'delay_completions','delay_ms':1,'target':'none'",
		.of_control = true},
};

static void ask_as_all(struct rest *rest, const struct way *way)
{
	size_t first = way->of_control ? CALLERS - 1 : 0;
	int fds[CALLERS];
	char body[1024];

	(void)snprintf(body, sizeof(body), "{%s%s}", way->unlabelled ? "" : "'labels':{'by':'@'},",
		way->body);
	for (size_t i = first; i < CALLERS; i++)
		fds[i] = send_as(
			rest, callers[i], "POST", way->path ? way->path : way->pattern, body);
	for (size_t i = first; i < CALLERS; i++)
		receive_as(rest, callers[i], fds[i], !way->unlabelled);
	check_all(rest);
}

/* Connections that the listener accepts are of control, as the listener is. */
static void open_door(struct rest *rest)
{
	static const struct way door = {.pattern = "/v1/listeners",
		.body = "'name':'door','addr':'10.0.0.1','port':7471,'service':'sink'",
		.of_control = true};

	ask_as_all(rest, &door);
}

static void make_all(struct rest *rest)
{
	begin(rest);
	open_door(rest);
	/* The memory for a batch is got in several turns. */
	rest->svc->daemon->turns.budget_ns = 0;
	for (size_t i = 0; i < VBD_ARRAY_LEN(ways); i++)
		ask_as_all(rest, &ways[i]);
}

REST_TEST(test_api_origins__what_callers_make_at_a_time_is_of_each)
{
	const struct vbd_daemon *daemon = rest->svc->daemon;

	make_all(rest);
	for (size_t i = 0; i < CALLERS - 1; i++) {
		assert_int_equal(count_of(daemon->connections, callers[i]), 204);
		assert_int_equal(count_of(daemon->buffers, callers[i]), 2);
		assert_int_equal(count_of(daemon->kept_objects, callers[i]), 3);
		assert_int_equal(count_of(daemon->transfers, callers[i]), 4);
	}
}

REST_TEST(test_api_origins__each_route_that_makes_an_object_is_among_them)
{
	const struct vbd_router router = vbd_routes();

	(void)rest;
	for (size_t i = 0; i < router.n_routes; i++) {
		const struct vbd_route *route = &router.routes[i];
		bool known = !route->create && !strstr(route->pattern, "/messages");

		for (size_t k = 0; k < VBD_ARRAY_LEN(ways); k++)
			known |= strcmp(ways[k].pattern, route->pattern) == 0;
		if (!known && route->method == VBD_METHOD_POST)
			fail_msg("no way is by %s", route->pattern);
	}
}

REST_TEST(test_api_origins__only_what_is_to_be_shared_is)
{
	static const char plain[] = "{'labels':{'by':'@'},'name':'x-@','size_bytes':64}";
	static const char shared[] =
		"{'labels':{'by':'@'},'name':'x-@','size_bytes':64,'share':'operators'}";
	int fds[CALLERS];

	begin(rest);
	for (size_t i = CALLERS; i > 0; i--)
		fds[i - 1] = send_as(
			rest, callers[i - 1], "POST", "/v1/buffers", i == CALLERS ? shared : plain);
	for (size_t i = 0; i < CALLERS - 1; i++)
		receive_as(rest, callers[i], fds[i], true);
	assert_int_equal(rest_receive(rest, fds[CALLERS - 1]), 201);
	check_all(rest);
	vbd_registry_for_each (object, rest->svc->daemon->buffers)
		assert_int_equal(object->shared, strcmp(object->name, "x-control") == 0);
}

/* --- what another caller has ----------------------------------------------------------------- */

/* A request of bob is refused, and the answer does not tell which object of alice there is. */
static void refuse_bob(
	struct rest *rest, const char *method, const char *path, const char *body, const char *says)
{
	int status = rest_receive(rest, send_as(rest, "bob", method, path, body));

	if (status < 400 || !strstr(rest->reply, says) || strstr(rest->reply, "belongs to /v1") ||
		strstr(rest->reply, "mean b-alice"))
		fail_msg("%s %s %s: %s", method, path, body, rest->reply);
}

REST_TEST(test_api_origins__what_another_caller_has_is_not_told)
{
	char body[1024];

	make_all(rest);
	for (size_t i = 0; i < VBD_ARRAY_LEN(ways); i++) {
		const char *at = strchr(ways[i].body, '@');

		if (strncmp(ways[i].body, "'name':", strlen("'name':")) != 0)
			continue;
		(void)snprintf(body, sizeof(body), "{%.*salice%s}", (int)(at - ways[i].body),
			ways[i].body, at + 1);
		refuse_bob(rest, "POST", ways[i].pattern, body, "is taken");
	}
	refuse_bob(rest, "GET", "/v1/transfers?buffer=b-alic", "", "there is no buffer");
	refuse_bob(rest, "PATCH", "/v1/objects?object=buffer/b-alice", "{'labels':{}}",
		"there is no buffer");
}

REST_TEST(test_api_origins__users_of_an_object_that_are_of_others_are_counted)
{
	make_all(rest);
	receive_as(rest, "control",
		send_as(rest, "control", "POST", "/v1/windows",
			"{'labels':{'by':'@'},'buffer':'b-alice','connection':'c-@','type':1,"
			"'access':['remote_read']}"),
		true);
	assert_int_equal(
		rest_receive(rest, send_as(rest, "alice", "DELETE", "/v1/buffers/b-@", "")), 409);
	assert_non_null(strstr(rest->reply, "; 1 of other callers"));
}

REST_TEST(test_api_origins__a_name_for_an_accepted_connection_is_refused_alike)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_listener *listener;
	char path[64];
	int fd;

	make_all(rest);
	spec.accept = VBD_ACCEPT_MANUAL;
	rest->svc->origin.caller = vbd_callers_get(&rest->svc->daemon->callers, "bob");
	listener = svc_listen(rest->svc, &spec);
	vbd_caller_unref(rest->svc->origin.caller);
	(void)snprintf(path, sizeof(path), "{'dst_addr':'10.0.0.1','dst_port':%u}",
		vbd_addr_port(&listener->addr));
	fd = send_as(rest, "bob", "POST", "/v1/connections", path);
	SVC_UNTIL(rest->svc, listener->waiting == 1);
	(void)snprintf(path, sizeof(path), "/v1/connections/%" PRIu64 "/accept",
		svc_newest_of(rest->svc, listener)->object.id);
	refuse_bob(rest, "POST", path, "{'name':'c-alice'}", "is taken");
	assert_int_equal(rest_receive(rest, send_as(rest, "bob", "POST", path, "{}")), 200);
	assert_int_equal(rest_receive(rest, fd), 201);
}

/* --- kept objects ---------------------------------------------------------------------------- */

static const struct way another = {.pattern = "/v1/pds", .body = "'device':'fake0'"};

/* Let an object be kept, which the reconciler makes in a later turn. */
static void keep(struct rest *rest, enum vbd_object_kind of, const struct vbd_origin *origin,
	const char *body, const char *caller)
{
	struct vbd_daemon *daemon = rest->svc->daemon;
	char filled[512];
	struct vbd_kept_spec spec = {.of = of,
		.source = VBD_KEPT_FROM_API,
		.origin = *origin,
		.body = filled,
		.policy = {VBD_RECONNECT_ALWAYS, 10, 20}};
	struct vbd_kept *kept;

	(void)snprintf(spec.name, sizeof(spec.name), "%d-%s", of, caller);
	spec.name[0] = 'k';
	fill(body, spec.name, filled, sizeof(filled));
	assert_int_equal(vbd_kept_add(daemon, &spec, &kept, &rest->svc->err), VBD_OK);
}

static void keep_each(struct rest *rest, const struct vbd_origin *origin, const char *caller)
{
	keep(rest, VBD_KIND_BUFFER, origin, "{'name':'@','size_bytes':4096}", caller);
	keep(rest, VBD_KIND_LISTENER, origin, "{'name':'@','addr':'10.0.0.1','port':0}", caller);
	keep(rest, VBD_KIND_CONNECTION, origin, "{'name':'@'," TO_DOOR "}", caller);
}

static void keep_for_all(struct rest *rest)
{
	for (size_t i = 0; i < CALLERS; i++) {
		struct vbd_labels *labels = vbd_labels_create(1);
		const struct vbd_origin origin = {
			vbd_callers_get(&rest->svc->daemon->callers, callers[i]), labels, false};
		const struct vbd_origin shared = {NULL, labels, true};

		vbd_labels_add(labels, "by", callers[i]);
		keep_each(rest, &origin, callers[i]);
		if (i == CALLERS - 1)
			keep_each(rest, &shared, "shared");
		vbd_caller_unref(origin.caller);
		vbd_labels_unref(labels);
	}
	keep_each(rest, &(struct vbd_origin){0}, "verbsd");
}

#define KEPT ((CALLERS + 2) * 3)

static void await_up(struct rest *rest)
{
	const struct vbd_reconciler *reconciler = rest->svc->daemon->reconciler;

	/* Requests of callers come between the tries. */
	for (int i = 0; i < 20; i++)
		ask_as_all(rest, &another);
	SVC_UNTIL(rest->svc, reconciler->in_state[VBD_KEPT_UP] == KEPT);
	check_all(rest);
}

/* The passive ends of the kept connections. */
static void close_accepted(struct rest *rest)
{
	vbd_registry_for_each (object, rest->svc->daemon->connections) {
		struct vbd_connection *connection =
			VBD_CONTAINER_OF(object, struct vbd_connection, object);

		if (connection->listener_id)
			vbd_connection_close(connection);
	}
}

REST_TEST(test_api_origins__the_reconciler_makes_objects_for_their_owners)
{
	struct vbd_daemon *daemon = rest->svc->daemon;
	uint64_t tries;

	begin(rest);
	open_door(rest);
	keep_for_all(rest);
	await_up(rest);
	tries = daemon->reconciler->tries;
	close_accepted(rest);
	SVC_UNTIL(rest->svc, daemon->reconciler->tries >= tries + CALLERS + 2);
	await_up(rest);
	for (size_t i = 0; i < CALLERS - 1; i++) {
		assert_int_equal(count_of(daemon->kept_objects, callers[i]), 3);
		assert_int_equal(count_of(daemon->buffers, callers[i]), 1);
		assert_int_equal(count_of(daemon->listeners, callers[i]), 1);
	}
}

REST_TEST(test_api_origins__a_transfer_that_has_waited_is_of_who_asked)
{
	static const struct way ends[] = {
		{.pattern = "/v1/buffers", .body = "'name':'b-@','size_bytes':4096"},
		{.pattern = "/v1/connections",
			.body = "'name':'c-@','keep':true,'reconnect_min_ms':200," TO_DOOR},
	};
	const struct vbd_daemon *daemon = rest->svc->daemon;
	int fds[CALLERS];

	begin(rest);
	open_door(rest);
	ask_as_all(rest, &ends[0]);
	ask_as_all(rest, &ends[1]);
	vbd_listener_delete(VBD_CONTAINER_OF(
		vbd_registry_find_name(daemon->listeners, "door"), struct vbd_listener, object));
	close_accepted(rest);
	SVC_UNTIL(rest->svc, daemon->reconciler->in_state[VBD_KEPT_WAITING] == CALLERS);
	for (size_t i = 0; i < CALLERS; i++)
		fds[i] = send_as(rest, callers[i], "POST", "/v1/transfers",
			"{'labels':{'by':'@'},'if_not_established':'wait'," SEND "}");
	ask_as_all(rest, &another);
	assert_int_equal(vbd_registry_count(daemon->transfers), 0);
	open_door(rest);
	for (size_t i = 0; i < CALLERS; i++)
		receive_as(rest, callers[i], fds[i], true);
	check_all(rest);
}
