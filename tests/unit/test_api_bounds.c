/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounds of each member of a request, as openapi.yaml has them: a value at a bound is taken,
 * the next one beyond it is a fault of the member. Each request has an unknown member too, so that
 * it is refused and makes nothing.
 */
#include "tests/unit/openapi.h"
#include "tests/unit/rest.h"

/* Longer texts and arrays do not fit into a request of rest_call(). */
#define LENGTH_MAX 3000

/* Members of a body. @inside: the member that they are in; NULL for the body itself; @beside: more
 * members of the body. */
struct body {
	const char *method, *path, *schema, *inside, *beside;
};

static const struct body bodies[] = {
	{"POST", "/v1/drain", "DrainCreate", NULL, ""},
	{"POST", "/v1/cqs", "CqCreate", NULL, ""},
	{"POST", "/v1/cqs", "Moderation", "moderation", ""},
	{"PATCH", "/v1/cqs/q", "CqPatch", NULL, ""},
	{"PATCH", "/v1/cqs/q", "Moderation", "moderation", ""},
	{"POST", "/v1/srqs", "SrqCreate", NULL, ""},
	{"PATCH", "/v1/srqs/s", "SrqPatch", NULL, ""},
	{"POST", "/v1/buffers", "BufferCreate", NULL, ""},
	{"POST", "/v1/listeners", "ListenerCreate", NULL, ""},
	{"POST", "/v1/listeners", "PrivateData", "private_data", ""},
	{"PATCH", "/v1/listeners/l", "ListenerPatch", NULL, ""},
	{"POST", "/v1/connections", "ConnectionCreate", NULL, ""},
	{"POST", "/v1/connections", "ConnectionCreate", NULL, ",'keep':true,'name':'k'"},
	{"POST", "/v1/connections", "ConnectionCreate", NULL, ",'bringup':'manual'"},
	{"POST", "/v1/connection_batches", "ConnectionBatchCreate", NULL, ""},
	{"POST", "/v1/connections", "PrivateData", "private_data", ""},
	{"POST", "/v1/connections/m/remote", "ConnectionRemote", NULL, ""},
	{"POST", "/v1/faults", "FaultCreate", NULL, ""},
	{"POST", "/v1/ud_endpoints", "UdEndpointCreate", NULL, ""},
	{"POST", "/v1/ud_peers", "UdPeerCreate", NULL, ""},
	{"POST", "/v1/multicast_memberships", "MulticastMembershipCreate", NULL, ""},
	{"POST", "/v1/transfers", "TransferCreate", NULL, ""},
	{"POST", "/v1/transfer_batches", "TransferBatchCreate", NULL, ""},
	{"POST", "/v1/benchmarks", "BenchmarkCreate", NULL, ""},
	{"POST", "/v1/probes", "ProbeCreate", NULL, ""},
	{"POST", "/v1/windows", "WindowCreate", NULL, ""},
	{"POST", "/v1/connections/c/messages", "MessageSend", NULL, ""},
	{"POST", "/v1/ud_endpoints/e/messages", "UdMessageSend", NULL, ""},
};

/* Bounds of numbers, of characters and of items. */
enum kind {
	NUMBER,
	TEXT,
	LIST,
};

static const struct {
	const char *type, *least, *most;
} words[] = {
	[NUMBER] = {"integer", "minimum: ", "maximum: "},
	[TEXT] = {"string", "minLength: ", "maxLength: "},
	[LIST] = {"array", "minItems: ", "maxItems: "},
};

/* --- one request ----------------------------------------------------------------------------- */

static void put_value(FILE *out, enum kind kind, int64_t value)
{
	if (kind == NUMBER) {
		(void)fprintf(out, "%" PRId64, value);
		return;
	}
	(void)fputs(kind == TEXT ? "'" : "[", out);
	for (int64_t i = 0; i < value; i++)
		(void)fputs(kind == TEXT ? "a" : i ? ",0" : "0", out);
	(void)fputs(kind == TEXT ? "'" : "]", out);
}

/* The fault of the member in the problem of rest->reply; NULL if it has none. */
static const json_t *fault_of(struct rest *rest, const char *pointer)
{
	const json_t *errors = json_object_get(rest->document, "errors"), *fault;
	const char *place;
	size_t i;

	json_array_foreach(errors, i, fault)
	{
		place = json_string_value(json_object_get(fault, "pointer"));
		if (place && strcmp(place, pointer) == 0)
			return fault;
	}
	return NULL;
}

/* Whether the member can have the value, as far as its bounds matter. Sets @ret_known to whether
 * the body has such a member. */
static bool is_taken(struct rest *rest, const struct body *body, const char *member, enum kind kind,
	int64_t value, bool *ret_known)
{
	char text[LENGTH_MAX + 512] = "", pointer[128];
	FILE *out = fmemopen(text, sizeof(text), "w");
	const json_t *fault;
	const char *code, *detail;
	int status;

	assert_non_null(out);
	(void)fprintf(out, "{%s%s%s'%s':", body->inside ? "'" : "",
		body->inside ? body->inside : "", body->inside ? "':{" : "", member);
	put_value(out, kind, value);
	(void)fprintf(out, "%s,'no_such_member':1%s}", body->inside ? "}" : "", body->beside);
	(void)fclose(out);
	(void)snprintf(pointer, sizeof(pointer), "/%s%s%s", body->inside ? body->inside : "",
		body->inside ? "/" : "", member);
	for (char *at = text; *at; at++)
		*at = *at == '\'' ? '"' : *at;
	status = rest_perform(rest, body->method, body->path, text);
	json_decref(rest->document);
	rest->document = json_loads(strstr(rest->reply, "\r\n\r\n") + 4, 0, NULL);
	if (status != 400)
		fail_msg("%s %s %s: %s", body->method, body->path, text, rest->reply);
	fault = fault_of(rest, pointer);
	code = fault ? rest_text(fault, "code") : "";
	detail = fault ? rest_text(fault, "detail") : "";
	*ret_known = strcmp(code, "unknown_field") != 0 &&
		     !strstr(detail, "is allowed with bringup") &&
		     !strstr(detail, "is not allowed for");
	if (kind == TEXT)
		return strcmp(code, "too_long") != 0 && !strstr(detail, " must have at least ");
	return strcmp(code, "out_of_range") != 0;
}

/* --- the bounds ------------------------------------------------------------------------------ */

static bool bound_of(const char *property, const char *word, int64_t *ret_bound)
{
	const char *at = strstr(property, word);

	if (!at)
		return false;
	*ret_bound = strtoll(at + strlen(word), NULL, 10);
	return true;
}

/* Compares a bound with what the API does. Returns false if the body has no such member. */
static bool check_bound(struct rest *rest, const struct body *body, const char *member,
	enum kind kind, int64_t bound, int beyond)
{
	bool known;

	if (kind != NUMBER && bound > LENGTH_MAX)
		return true;
	if (!is_taken(rest, body, member, kind, bound, &known))
		fail_msg("%s %s: %s can't be %" PRId64, body->method, body->path, member, bound);
	if (!known)
		return false;
	/* A length is not negative, and JSON has no integer beyond the largest one. */
	if ((kind != NUMBER && bound + beyond < 0) || (beyond > 0 && bound == INT64_MAX))
		return true;
	if (is_taken(rest, body, member, kind, bound + beyond, &known))
		fail_msg("%s %s: %s can be %" PRId64, body->method, body->path, member,
			bound + beyond);
	return true;
}

static bool kind_of(const char *property, enum kind *ret_kind)
{
	char type[64];
	const char *end = strchr(property, ',');

	(void)snprintf(type, sizeof(type), "%.*s",
		(int)(end ? (size_t)(end - property) : strlen(property)), property);
	for (*ret_kind = NUMBER; *ret_kind <= LIST; (*ret_kind)++) {
		if (strstr(type, words[*ret_kind].type))
			return true;
	}
	return false;
}

/* Returns the number of bounds that were compared. */
static unsigned int check_member(struct rest *rest, const struct body *body, const char *member)
{
	char property[OPENAPI_PROPERTY_BYTES];
	unsigned int count = 0;
	int64_t bound;
	enum kind kind;

	openapi_read_property(body->schema, member, property);
	/* A set of names has each once. */
	if (!kind_of(property, &kind) || strstr(property, "uniqueItems"))
		return 0;
	if (bound_of(property, words[kind].least, &bound))
		count += check_bound(rest, body, member, kind, bound, -1);
	if (bound_of(property, words[kind].most, &bound))
		count += check_bound(rest, body, member, kind, bound, 1);
	return count;
}

REST_TEST(test_api_bounds__are_those_of_the_contract)
{
	struct openapi_enum members;

	(void)rest_pair(rest, "", "");
	(void)rest_call(rest, 201, "POST", "/v1/cqs", "{'name':'q','device':'fake0'}");
	(void)rest_call(rest, 201, "POST", "/v1/srqs", "{'name':'s'}");
	(void)rest_call(rest, 201, "POST", "/v1/ud_endpoints", "{'name':'e'}");
	(void)rest_call(rest, 201, "POST", "/v1/connections", "{'name':'m','bringup':'manual'}");
	for (size_t i = 0; i < VBD_ARRAY_LEN(bodies); i++) {
		unsigned int bounds = 0;

		openapi_read_properties(bodies[i].schema, &members);
		for (size_t at = 0; at < members.count; at++)
			bounds += check_member(rest, &bodies[i], members.values[at]);
		if (!bounds)
			fail_msg("%s has no bounds", bodies[i].schema);
	}
}
