/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/problem.h"
#include "api/http/reply.h"
#include "api/http/router.h"
#include "api/json/parse.h"
#include "rdma/names/names.h"
#include "tests/unit/document.h"
#include "tests/unit/openapi.h"

static json_t *problem_of(const struct vbd_error *err, const struct vbd_problem_extra *extra)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_problem(&out, err, extra);
	return document_end(&out);
}

static const char *text_of(const json_t *problem, const char *name)
{
	return json_string_value(json_object_get(problem, name));
}

/* The first fault of the problem. */
static const json_t *fault_of(const json_t *problem)
{
	return json_array_get(json_object_get(problem, "errors"), 0);
}

TEST(test_problem__every_status_has_its_document)
{
	struct openapi_enum codes;

	openapi_read_enum("ProblemCode", &codes);
	for (unsigned int i = 1; i < VBD_STATUS_COUNT; i++) {
		struct vbd_error err = {.status = (enum vbd_status)i};
		json_t *problem = problem_of(&err, NULL);
		char type[80] = "/v1/glossary/";

		strcat(type, vbd_status_code(err.status));
		assert_true(openapi_enum_has(&codes, text_of(problem, "code")));
		assert_string_equal(text_of(problem, "type"), type);
		assert_string_equal(text_of(problem, "title"), vbd_status_text(err.status));
		assert_string_equal(text_of(problem, "detail"), vbd_status_text(err.status));
		assert_string_equal(text_of(problem, "hint"), vbd_status_hint(err.status));
		assert_int_equal(json_integer_value(json_object_get(problem, "status")),
			vbd_status_http(err.status));
		assert_int_equal(
			json_object_size(problem), vbd_status_http(err.status) == 400 ? 8 : 6);
		json_decref(problem);
	}
}

TEST(test_problem__an_error_shows_its_source)
{
	struct vbd_error err = {0};
	json_t *problem;

	(void)vbd_error_errno(&err, VBD_E_MEMLOCK, "ibv_reg_mr", ENOMEM, "buffer 7");
	err.limit = 65536;
	(void)strcpy(err.limit_name, "RLIMIT_MEMLOCK");
	problem = problem_of(&err, NULL);
	assert_string_equal(text_of(problem, "call"), "ibv_reg_mr");
	assert_string_equal(text_of(problem, "errno"), "ENOMEM");
	assert_int_equal(json_integer_value(json_object_get(problem, "limit")), 65536);
	assert_string_equal(text_of(problem, "limit_name"), "RLIMIT_MEMLOCK");
	json_decref(problem);

	err = (struct vbd_error){.status = VBD_E_REJECTED,
		.source = VBD_SOURCE_CM_EVENT,
		.kind = 8,
		.raw = 28,
		.object = "/v1/connections/7"};
	problem = problem_of(&err, NULL);
	assert_string_equal(text_of(problem, "cm_event"), vbd_cm_event_name(8));
	assert_int_equal(json_integer_value(json_object_get(problem, "cm_status")), 28);
	assert_string_equal(text_of(problem, "instance"), "/v1/connections/7");
	assert_string_equal(text_of(problem, "reject_reason"), "IB_CM_REJ_CONSUMER_DEFINED");
	json_decref(problem);

	err = (struct vbd_error){
		.status = VBD_E_REMOTE_ACCESS, .source = VBD_SOURCE_WC, .kind = 10, .raw = 0x88};
	problem = problem_of(&err, NULL);
	assert_string_equal(text_of(problem, "wc_status"), "IBV_WC_REM_ACCESS_ERR");
	assert_int_equal(json_integer_value(json_object_get(problem, "vendor_err")), 0x88);
	json_decref(problem);
}

TEST(test_problem__all_that_an_error_knows_is_a_member)
{
	struct vbd_error err = {.status = VBD_E_NOT_SUPPORTED,
		.call = "ibv_reg_mr",
		.limit = 5,
		.limit_name = "limits.buffers",
		.caller = "ci",
		.pointer = "/op",
		.object = "/v1/buffers/3",
		.device = "fake0",
		.capability = "atomics",
		.hint = "Use another device.",
		.text = "fake0 can't do it"};
	json_t *problem = problem_of(&err, NULL);
	json_t *expected = json_pack(
		"{s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:s, "
		"s:[{s:s, s:s, s:s}], s:i}",
		"type", "/v1/glossary/not_supported", "title", vbd_status_text(err.status),
		"status", (int)vbd_status_http(err.status), "code", "not_supported", "detail",
		"fake0 can't do it", "instance", "/v1/buffers/3", "hint", "Use another device.",
		"call", "ibv_reg_mr", "device", "fake0", "capability", "atomics", "limit", 5,
		"limit_name", "limits.buffers", "caller", "ci", "errors", "pointer", "/op", "code",
		"not_supported", "detail", "fake0 can't do it", "errors_total", 1);

	assert_non_null(expected);
	assert_true(json_equal(problem, expected));
	json_decref(problem);
	/* The members that have no value are left out. */
	err = (struct vbd_error){.status = VBD_E_NOT_SUPPORTED, .text = "fake0 can't do it"};
	problem =
		problem_of(&err, &(struct vbd_problem_extra){.kept_object = "/v1/kept_objects/1"});
	assert_string_equal(text_of(problem, "kept_object"), "/v1/kept_objects/1");
	assert_int_equal(json_object_size(problem), 7);
	json_decref(problem);
	json_decref(expected);
}

/* The parameters that rdma/ names, and where a client finds each in its request. */
TEST(test_problem__a_bad_parameter_is_a_member_of_the_request)
{
	static const struct {
		const char *param;
		const char *pointer;
	} members[] = {
		{"addr", "/addr"},
		{"cq", "/qp/cq"},
		{"depth", "/depth"},
		{"cqe", "/cqe"},
		{"device", "/device"},
		{"gid", "/gid"},
		{"gid_index", "/gid_index"},
		{"inline_bytes", "/qp/inline_bytes"},
		{"lid", "/lid"},
		{"max_recv_sge", "/qp/max_recv_sge"},
		{"max_send_sge", "/qp/max_send_sge"},
		{"moderation_count", "/moderation/count"},
		{"moderation_period_us", "/moderation/period_us"},
		{"pd", "/qp/pd"},
		{"pkey_index", "/pkey_index"},
		{"port_num", "/port_num"},
		{"qp", "/qp"},
		{"recv_size_bytes", "/qp/recv_size_bytes"},
		{"service", "/service"},
		{"srq", "/qp/srq"},
		{"srq_cq", "/cq"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(members); i++) {
		struct vbd_error err = {0};
		json_t *problem;

		(void)vbd_error_param(&err, VBD_E_BAD_VALUE, members[i].param, "bad");
		problem = problem_of(&err, NULL);
		assert_string_equal(text_of(fault_of(problem), "pointer"), members[i].pointer);
		json_decref(problem);
	}
}

TEST(test_problem__a_taken_name_names_its_holder)
{
	struct vbd_error err = {
		.status = VBD_E_NAME_TAKEN, .object = "/v1/buffers/3", .pointer = "/name"};
	json_t *problem = problem_of(&err, NULL);

	assert_string_equal(text_of(problem, "holder"), "/v1/buffers/3");
	assert_null(json_object_get(problem, "instance"));
	assert_string_equal(text_of(fault_of(problem), "pointer"), "/name");
	json_decref(problem);
}

TEST(test_problem__extra_members_are_lists)
{
	static const char *const users[] = {"/v1/transfers/1", "/v1/transfers/2"};
	const struct vbd_error err = {.status = VBD_E_IN_USE};
	json_t *problem =
		problem_of(&err, &(struct vbd_problem_extra){.users = users,
					 .n_users = 2,
					 .allow = 1u << VBD_METHOD_GET | 1u << VBD_METHOD_DELETE});

	assert_int_equal(json_array_size(json_object_get(problem, "users")), 2);
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(problem, "allow"), 2)), "DELETE");
	json_decref(problem);
}

TEST(test_problem__a_refused_request_lists_its_faults)
{
	struct vbd_faults faults = {0};
	struct vbd_problem_extra extra = {.faults = &faults};
	const json_t *errors;
	json_t *problem;

	(void)vbd_fault(&faults, VBD_E_OUT_OF_RANGE, "/a", "too small");
	(void)vbd_fault(&faults, VBD_E_MISSING_FIELD, "/b", "missing");
	problem = problem_of(&faults.first, &extra);
	errors = json_object_get(problem, "errors");
	assert_string_equal(text_of(fault_of(problem), "pointer"), "/a");
	assert_int_equal(json_array_size(errors), 2);
	assert_int_equal(json_integer_value(json_object_get(problem, "errors_total")), 2);
	assert_string_equal(text_of(json_array_get(errors, 1), "pointer"), "/b");
	assert_string_equal(text_of(json_array_get(errors, 1), "code"), "missing_field");
	assert_string_equal(text_of(json_array_get(errors, 1), "detail"), "missing");
	json_decref(problem);
	vbd_faults_fini(&faults);
}

TEST(test_problem__a_parameter_is_no_json_pointer)
{
	struct vbd_error err = {0};
	json_t *problem;

	(void)vbd_error_input(&err, VBD_E_OUT_OF_RANGE, "limit", "too large");
	problem = problem_of(&err, NULL);
	assert_int_equal(json_array_size(json_object_get(problem, "errors")), 1);
	assert_string_equal(text_of(fault_of(problem), "parameter"), "limit");
	assert_null(json_object_get(fault_of(problem), "pointer"));
	json_decref(problem);
}

TEST(test_problem__an_item_of_a_list_is_named)
{
	struct vbd_faults faults = {0};
	struct vbd_error err = {0};

	(void)vbd_error_input(&err, VBD_E_MISSING_FIELD, "/op", "/op is missing");
	(void)vbd_fault(&faults, VBD_E_BAD_VALUE, "/qp/cq", "it has no place");
	(void)vbd_fault(&faults, VBD_E_BAD_VALUE, "", "the item is none");
	vbd_problem_of_item(&err, &faults, "transfer", 12);
	assert_string_equal(err.pointer, "/transfers/12/op");
	assert_string_equal(err.text, "/transfers/12/op is missing");
	assert_int_equal(faults.count, 2);
	assert_string_equal(faults.items[0].pointer, "/transfers/12/qp/cq");
	assert_string_equal(faults.items[0].text, "transfer 12: it has no place");
	assert_string_equal(faults.items[1].pointer, "/transfers/12");
	assert_string_equal(faults.items[1].text, "transfer 12: the item is none");
	vbd_faults_fini(&faults);
	/* A parameter of rdma/ is a member of the item too. */
	err = (struct vbd_error){0};
	(void)vbd_error_param(&err, VBD_E_BAD_VALUE, "cq", "bad");
	vbd_problem_of_item(&err, &faults, "connection", 0);
	assert_string_equal(err.pointer, "/connections/0/qp/cq");
	assert_null(err.param);
}

TEST(test_problem__an_outcome_is_a_failed_dependency)
{
	const struct vbd_error err = {.status = VBD_E_STOPPING, .object = "/v1/connections/7"};
	const struct vbd_problem_extra extra = {.outcome = true};
	json_t *problem = problem_of(&err, &extra);

	assert_int_equal(vbd_problem_http(&err, NULL), 503);
	assert_int_equal(vbd_problem_http(&err, &extra), 424);
	assert_int_equal(json_integer_value(json_object_get(problem, "status")), 424);
	assert_string_equal(text_of(problem, "code"), "stopping");
	assert_string_equal(text_of(problem, "instance"), "/v1/connections/7");
	json_decref(problem);
}

TEST(test_problem__text_cut_in_a_character_is_still_json)
{
	struct vbd_error err = {0};
	json_t *problem;
	char *dump;

	(void)vbd_error_set(&err, VBD_E_BAD_VALUE, "'%.1s'", "\xc3\xa9");
	problem = problem_of(&err, NULL);
	dump = json_dumps(problem, 0);
	assert_non_null(dump);
	assert_string_equal(text_of(problem, "detail"), "'?'");
	free(dump);
	json_decref(problem);
}

TEST(test_problem__the_one_for_no_memory_is_json_itself)
{
	const struct vbd_error err = {.status = VBD_E_NO_MEMORY};
	json_t *expected = problem_of(&err, NULL);
	struct vbd_reply reply = {0};
	json_t *problem;

	vbd_reply_no_memory(&reply);
	problem = json_loads(reply.static_body, 0, NULL);
	assert_string_equal(text_of(problem, "type"), text_of(expected, "type"));
	assert_string_equal(text_of(problem, "title"), text_of(expected, "title"));
	assert_true(json_equal(
		json_object_get(problem, "status"), json_object_get(expected, "status")));
	json_decref(problem);
	json_decref(expected);
}
