/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of rdma/qp/qp_params.h, against openapi.yaml and against the decoder. */
#include "api/core/common_json.h"
#include "api/core/qp_params.h"
#include "daemon/core/context.h"
#include "rdma/data/channel.h"
#include "rdma/ud/endpoint.h"
#include "tests/unit/document.h"
#include "tests/unit/openapi.h"

enum kind { UINT, SPIN, HEARTBEAT, OPTIONAL, ACCESS, REF, POLL };

static const char *const timers[] = {
#define TIMER(name, max_ns) #name "_ns",
	VBD_QP_TIMER_MAP(TIMER)
#undef TIMER
};

static const struct row {
	const char *name;
	enum kind kind;
	uint64_t min, max, initial;
	bool ud;
} rows[] = {
#define ANY(kind, name, member, min, max, initial)  {#name, kind, min, max, initial, true},
#define CONN(kind, name, member, min, max, initial) {#name, kind, min, max, initial, false},
	VBD_QP_PARAM_MAP(ANY, CONN)
#undef ANY
#undef CONN
};

static void expect_number(
	const char *text, const char *word, uint64_t value, const char *schema, const char *name)
{
	char want[64];

	(void)snprintf(want, sizeof(want), "%s: %" PRIu64 ",", word, value);
	if (!strstr(text, want))
		fail_msg("%s.%s has no \"%s\": %s", schema, name, want, text);
}

/* UD has a default of its own for the length of its receives. */
static uint64_t default_of(const struct row *row, bool ud)
{
	if (ud && strcmp(row->name, "recv_size_bytes") == 0)
		return vbd_endpoint_params_default().qp.recv_size_bytes;
	return row->initial;
}

TEST(test_qp_params__the_contract_has_the_limits_of_the_rows)
{
	char text[OPENAPI_PROPERTY_BYTES];

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];

		for (int ud = 0; row->kind <= HEARTBEAT && ud <= row->ud; ud++) {
			const char *schema = ud ? "UdQpParams" : "QpParams";

			openapi_read_property(schema, row->name, text);
			expect_number(text, "minimum", row->min, schema, row->name);
			expect_number(text, "maximum", row->max, schema, row->name);
			expect_number(text, "default", default_of(row, ud), schema, row->name);
		}
	}
}

static void expect_members(const char *schema, bool ud)
{
	struct openapi_enum members;
	size_t count = 0;

	openapi_read_properties(schema, &members);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		if (ud && !rows[i].ud)
			continue;
		count++;
		if (!openapi_enum_has(&members, rows[i].name))
			fail_msg("%s has no %s", schema, rows[i].name);
	}
	for (size_t i = 0; !ud && i < VBD_ARRAY_LEN(timers); i++, count++) {
		if (!openapi_enum_has(&members, timers[i]))
			fail_msg("%s has no %s", schema, timers[i]);
	}
	assert_int_equal(members.count, count);
}

TEST(test_qp_params__the_contract_has_the_members_of_the_rows)
{
	expect_members("QpParams", false);
	expect_members("QpParamsFull", false);
	expect_members("UdQpParams", true);
	expect_members("UdQpParamsFull", true);
}

static enum vbd_status decode_one(const char *name, uint64_t value, struct vbd_error *err)
{
	struct vbd_qp_input input = vbd_qp_input_default();
	json_t *json = json_pack("{s:I}", name, (json_int_t)value);
	enum vbd_status status = vbd_decode_at(json, VBD_FIELDS(vbd_qp_fields), "", &input, err);

	json_decref(json);
	return status;
}

TEST(test_qp_params__a_value_outside_its_limits_is_refused)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		struct vbd_error err = {0};

		if (row->kind > HEARTBEAT)
			continue;
		assert_int_equal(decode_one(row->name, row->min, NULL), VBD_OK);
		assert_int_equal(decode_one(row->name, row->max, NULL), VBD_OK);
		assert_int_equal(decode_one(row->name, row->max + 1, &err), VBD_E_OUT_OF_RANGE);
		assert_string_equal(err.pointer + 1, row->name);
		if (row->min)
			assert_int_equal(
				decode_one(row->name, row->min - 1, NULL), VBD_E_OUT_OF_RANGE);
	}
}

static enum vbd_status merge(const char *text, struct vbd_qp_input *input, struct vbd_error *err)
{
	json_t *json = json_loads(text, 0, NULL);
	enum vbd_status status;

	*input = vbd_qp_input_default();
	status = vbd_decode_at(json, VBD_FIELDS(vbd_qp_fields), "", input, err);
	json_decref(json);
	return status ? status : vbd_qp_input_check(NULL, NULL, input, err);
}

TEST(test_qp_params__signals_are_as_rare_as_the_send_queue_allows)
{
	static const struct {
		const char *text;
		uint32_t signal_every;
	} cases[] = {
		{"{}", 4},
		{"{\"sq_depth\": 1000}", 16},
		{"{\"sq_depth\": 20}", 5},
		{"{\"sq_depth\": 5}", 2},
		{"{\"sq_depth\": 1}", 1},
		{"{\"sq_depth\": 20, \"signal_every\": 20}", 20},
		{"{\"signal_every\": 1}", 1},
	};
	struct vbd_qp_input input;
	struct vbd_error err = {0};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		assert_int_equal(merge(cases[i].text, &input, &err), VBD_OK);
		assert_int_equal(input.params.qp.signal_every, cases[i].signal_every);
	}
	assert_int_equal(merge("{\"sq_depth\": 20, \"signal_every\": 21}", &input, &err),
		VBD_E_OUT_OF_RANGE);
	assert_string_equal(err.pointer, "/qp/signal_every");
}

TEST(test_qp_params__only_adaptive_polling_has_a_time)
{
	struct vbd_qp_input input;
	struct vbd_error err = {0};

	assert_int_equal(merge("{\"poll\": \"adaptive\", \"spin_us\": 7}", &input, &err), VBD_OK);
	assert_int_equal(input.params.qp.poll, VBD_POLL_ADAPTIVE);
	assert_int_equal(input.params.qp.spin_us, 7);
	assert_int_equal(merge("{\"poll\": \"busy\"}", &input, &err), VBD_OK);
	assert_int_equal(input.params.qp.poll, VBD_POLL_BUSY);
	assert_int_equal(
		merge("{\"poll\": \"busy\", \"spin_us\": 7}", &input, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.pointer, "/qp/spin_us");
}

TEST(test_qp_params__heartbeats_have_a_shortest_interval)
{
	struct vbd_qp_input input;
	struct vbd_error err = {0};

	assert_int_equal(merge("{\"heartbeat_ms\": 0}", &input, &err), VBD_OK);
	assert_int_equal(merge("{\"heartbeat_ms\": 100}", &input, &err), VBD_OK);
	assert_int_equal(input.params.qp.heartbeat_ms, 100);
	assert_int_equal(merge("{\"heartbeat_ms\": 99}", &input, &err), VBD_E_OUT_OF_RANGE);
	assert_string_equal(err.pointer, "/qp/heartbeat_ms");
}

TEST(test_qp_params__a_time_is_rounded_up_to_a_code)
{
	struct vbd_qp_input input;
	struct vbd_error err = {0};

	assert_int_equal(
		merge("{\"ack_timeout_ns\": 67108865, \"min_rnr_timer_ns\": 640000}", &input, &err),
		VBD_OK);
	assert_int_equal(input.params.ack_timeout, 15);
	assert_int_equal(input.params.min_rnr_timer, 12);
	assert_int_equal(
		merge("{\"ack_timeout_ns\": 1, \"min_rnr_timer_ns\": 491520001}", &input, &err),
		VBD_OK);
	assert_int_equal(input.params.ack_timeout, 1);
	assert_int_equal(input.params.min_rnr_timer, 0);
	assert_int_equal(merge("{\"ack_timeout_ns\": 8796093022208}", &input, &err), VBD_OK);
	assert_int_equal(input.params.ack_timeout, 31);
	assert_int_equal(merge("{\"ack_timeout_ns\": 0}", &input, NULL), VBD_E_OUT_OF_RANGE);
	assert_int_equal(
		merge("{\"ack_timeout_ns\": 8796093022209}", &input, NULL), VBD_E_OUT_OF_RANGE);
}

TEST(test_qp_params__a_time_and_another_code_are_refused)
{
	struct vbd_qp_input input;
	struct vbd_error err = {0};

	assert_int_equal(
		merge("{\"ack_timeout_ns\": 1, \"ack_timeout\": 1}", &input, &err), VBD_OK);
	assert_int_equal(merge("{\"ack_timeout_ns\": 1, \"ack_timeout\": 2}", &input, &err),
		VBD_E_BAD_VALUE);
	assert_string_equal(err.pointer, "/qp/ack_timeout_ns");
}

TEST(test_qp_params__remote_access_is_a_list_of_names)
{
	struct vbd_qp_input input = vbd_qp_input_default();
	struct openapi_enum names;
	struct vbd_error err = {0};
	json_t *json = json_pack("{s:[s]}", "remote_access", "remote_read");
	json_t *bind = json_pack("{s:[s]}", "remote_access", "mw_bind");

	assert_int_equal(vbd_decode_at(json, VBD_FIELDS(vbd_qp_fields), "", &input, &err), VBD_OK);
	assert_int_equal(input.params.remote_access, VBD_ACCESS_REMOTE_READ);
	assert_int_equal(
		vbd_decode_at(bind, VBD_FIELDS(vbd_qp_fields), "", &input, &err), VBD_E_BAD_VALUE);
	openapi_read_enum("WindowAccess", &names);
	assert_int_equal(names.count, 3);
	for (size_t i = 0; i < names.count; i++)
		assert_string_equal(names.values[i], vbd_access_names[i]);
	json_decref(json);
	json_decref(bind);
}

TEST(test_qp_params__json_shows_the_default_of_each_row)
{
	const struct vbd_conn_params params = vbd_conn_params_default();
	const struct vbd_daemon daemon = {0};
	struct vbd_encoder out = vbd_encode_begin();
	const json_t *all, *ud;
	struct vbd_qp_input again = vbd_qp_input_default();
	struct vbd_error err = {0};
	json_t *json;

	vbd_put_params(&out, "all", &daemon, &params);
	vbd_put_ud_params(&out, "ud", &daemon, &params.qp);
	json = document_end(&out);
	all = json_object_get(json, "all");
	ud = json_object_get(json, "ud");
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		const json_t *value = json_object_get(all, rows[i].name);

		assert_non_null(value);
		if (rows[i].kind == SPIN || rows[i].kind == HEARTBEAT)
			assert_true(json_is_null(value));
		if (rows[i].kind == UINT)
			assert_int_equal(json_integer_value(value), rows[i].initial);
		assert_int_equal(json_object_get(ud, rows[i].name) != NULL, rows[i].ud);
	}
	assert_int_equal(json_object_size(all), VBD_ARRAY_LEN(rows) + VBD_ARRAY_LEN(timers));
	assert_int_equal(json_integer_value(json_object_get(all, "ack_timeout_ns")), 67108864);
	assert_int_equal(json_integer_value(json_object_get(all, "min_rnr_timer_ns")), 640000);
	/* Parameters that an answer shows can be posted again. */
	assert_int_equal(vbd_decode_at(all, VBD_FIELDS(vbd_qp_fields), "", &again, &err), VBD_OK);
	assert_int_equal(vbd_qp_input_check(NULL, NULL, &again, &err), VBD_OK);
	assert_memory_equal(&again.params, &params, sizeof(params));
	json_decref(json);
}
