/* SPDX-License-Identifier: Apache-2.0 */
/* The member `remote` of a request: the peer's memory, as its verbsd shows it. */
#include "api/work/transfers.h"

#include "tests/unit/unit.h"

static enum vbd_status decode(
	const char *text, struct vbd_remote_input *ret_input, struct vbd_error *err)
{
	json_t *json = json_loads(text, 0, NULL);
	enum vbd_status status;

	assert_non_null(json);
	*ret_input = (struct vbd_remote_input){0};
	status = vbd_remote_decode(json, ret_input, err);
	json_decref(json);
	return status;
}

TEST(test_remote__a_buffer_is_taken_as_it_is)
{
	struct vbd_remote_input input;
	struct vbd_error err = {0};

	assert_int_equal(decode("{\"id\": 3, \"name\": \"b\", \"state\": \"ready\", \"length\": 5, "
				"\"addr\": \"0x7f0000001000\", \"rkey\": \"0x00001a71\", "
				"\"size_bytes\": 4096, \"error\": null, \"device\": \"rxe0\"}",
				 &input, &err),
		VBD_OK);
	assert_int_equal(input.addr, 0x7f0000001000);
	assert_int_equal(input.rkey, 0x1a71);
	assert_int_equal(input.offset_bytes, 0);
	assert_true(input.size_seen);
	assert_int_equal(input.size_bytes, 4096);
}

TEST(test_remote__what_can_not_be_taken_says_why)
{
	static const struct {
		const char *json;
		enum vbd_status status;
		const char *pointer, *text;
	} rows[] = {
		{"{\"rkey\": \"0x1\"}", VBD_E_MISSING_FIELD, "/remote/addr", "read role"},
		{"{\"addr\": \"0x1\", \"size_bytes\": 8}", VBD_E_MISSING_FIELD, "/remote/rkey",
			"read role"},
		{"{\"addr\": null, \"rkey\": null, \"state\": \"revoked\"}", VBD_E_MISSING_FIELD,
			"/remote/addr", "memory is revoked"},
		{"{\"addr\": null, \"rkey\": \"0x1\"}", VBD_E_MISSING_FIELD, "/remote/addr",
			"not ready"},
		{"{\"addr\": \"4096\", \"rkey\": \"0x1\"}", VBD_E_BAD_VALUE, "/remote/addr", "0x"},
		{"{\"addr\": \"0x1\", \"rkey\": \"0x100000000\"}", VBD_E_OUT_OF_RANGE,
			"/remote/rkey", ""},
		{"{\"addr\": \"0x1\", \"rkey\": \"0x1\", \"offset_bytes\": -1}", VBD_E_OUT_OF_RANGE,
			"/remote/offset_bytes", ""},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_remote_input input;
		struct vbd_error err = {0};

		assert_int_equal(decode(rows[i].json, &input, &err), rows[i].status);
		assert_string_equal(err.pointer, rows[i].pointer);
		assert_non_null(strstr(err.text, rows[i].text));
	}
}

TEST(test_remote__a_range_is_inside_the_memory)
{
	static const struct {
		struct vbd_remote_input input;
		uint64_t length_bytes;
		const char *pointer; /* NULL: inside */
	} rows[] = {
		{{.addr = 4096, .size_bytes = 100, .size_seen = true}, 100, NULL},
		{{.addr = 4096, .size_bytes = 100, .size_seen = true}, 101, "/length_bytes"},
		{{.addr = 4096, .offset_bytes = 60, .size_bytes = 100, .size_seen = true}, 40,
			NULL},
		{{.addr = 4096, .offset_bytes = 60, .size_bytes = 100, .size_seen = true}, 41,
			"/length_bytes"},
		{{.addr = 4096, .offset_bytes = 100, .size_bytes = 100, .size_seen = true}, 0,
			NULL},
		{{.addr = 4096, .offset_bytes = 101, .size_bytes = 100, .size_seen = true}, 0,
			"/remote/offset_bytes"},
		{{.addr = 4096, .offset_bytes = 101}, 1000, NULL},
		{{.addr = UINT64_MAX - 10, .offset_bytes = 5}, 5, NULL},
		{{.addr = UINT64_MAX - 10, .offset_bytes = 5}, 6, "/length_bytes"},
		{{.addr = UINT64_MAX - 10, .offset_bytes = 11}, 0, "/remote/offset_bytes"},
		{{.size_seen = true}, 1, "/length_bytes"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_error err = {0};
		uint64_t addr = 0;

		assert_int_equal(vbd_remote_aim(&rows[i].input, VBD_OP_WRITE, rows[i].length_bytes,
					 "/length_bytes", &addr, &err),
			rows[i].pointer ? VBD_E_OUT_OF_RANGE : VBD_OK);
		if (rows[i].pointer)
			assert_string_equal(err.pointer, rows[i].pointer);
		else
			assert_int_equal(addr, rows[i].input.addr + rows[i].input.offset_bytes);
	}
}

TEST(test_remote__a_refused_range_has_its_numbers)
{
	const struct vbd_remote_input input = {
		.addr = 4096, .offset_bytes = 7, .size_bytes = 100, .size_seen = true};
	struct vbd_error err = {0};
	uint64_t addr;

	assert_int_equal(vbd_remote_aim(&input, VBD_OP_WRITE, 94, "/size_bytes", &addr, &err),
		VBD_E_OUT_OF_RANGE);
	assert_string_equal(err.pointer, "/size_bytes");
	assert_string_equal(err.text, "94 bytes at offset 7 reach past the end of the peer's "
				      "memory, which has 100 bytes");
}

TEST(test_remote__the_peers_memory_must_allow_the_operation)
{
	static const struct {
		const char *access;
		enum vbd_op op;
		bool allowed;
	} rows[] = {
		{"[\"remote_write\"]", VBD_OP_WRITE, true},
		{"[\"remote_write\"]", VBD_OP_READ, false},
		{"[\"remote_write\",\"remote_read\"]", VBD_OP_READ, true},
		{"[\"remote_write\",\"remote_read\"]", VBD_OP_FETCH_ADD, false},
		{"[\"remote_atomic\"]", VBD_OP_COMPARE_SWAP, true},
		{"[]", VBD_OP_WRITE_IMM, false},
		{"\"no list\"", VBD_OP_READ, true},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		json_t *access = json_loads(rows[i].access, JSON_DECODE_ANY, NULL);
		const struct vbd_remote_input input = {.addr = 4096, .access = access};
		struct vbd_error err = {0};
		uint64_t addr;

		assert_int_equal(
			vbd_remote_aim(&input, rows[i].op, 1, "/length_bytes", &addr, &err),
			rows[i].allowed ? VBD_OK : VBD_E_BAD_VALUE);
		if (!rows[i].allowed)
			assert_string_equal(err.pointer, "/remote/access");
		json_decref(access);
	}
}
