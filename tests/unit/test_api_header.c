/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/request.h"

#include "tests/unit/unit.h"

/* Takes header lines, as in "Host: x\r\nA: b\r\n", and finds the length of the body. */
static enum vbd_status check(
	const char *lines, bool http_1_1, uint64_t *ret_content_bytes, struct vbd_error *err)
{
	struct vbd_request req = {0};
	enum vbd_status status = VBD_OK;

	while (*lines && status == VBD_OK) {
		size_t name_bytes = strcspn(lines, ":");
		const char *value = lines + name_bytes + 1;
		const char *end = strstr(value, "\r\n");

		value += strspn(value, " \t");
		status =
			vbd_headers_add(&req, lines, name_bytes, value, (size_t)(end - value), err);
		lines = end + 2;
	}
	if (status == VBD_OK)
		status = vbd_headers_frame(&req, http_1_1, err);
	*ret_content_bytes = req.content_bytes;
	vbd_request_fini(&req);
	return status;
}

TEST(test_header__proper_lines_pass)
{
	static const struct {
		const char *lines;
		uint64_t content_bytes;
	} heads[] = {
		{"Host: x\r\n", 0},
		{"host:x\r\nX-Empty:\r\nY: a\tb \r\n", 0},
		{"Host: x  \r\nX: a \t \r\nY: b\t \t\r\n", 0},
		{"Host: x\r\nContent-Length: 12\r\n", 12},
		{"Host: x\r\nTransfer-Encoding: Chunked\r\n", UINT64_MAX},
		{"Host: x\r\nPrefer: wait=1\r\nprefer: a\r\nIf-Match: *\r\n"
		 "If-Match: \"a\"\r\nVia: a\r\nVia: b\r\n",
			0},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(heads); i++) {
		uint64_t content_bytes = 1;
		struct vbd_error err = {0};

		if (check(heads[i].lines, true, &content_bytes, &err) != VBD_OK)
			fail_msg("%s: %s", heads[i].lines, err.text);
		assert_true(content_bytes == heads[i].content_bytes);
	}
	assert_int_equal(check("", false, &(uint64_t){0}, NULL), VBD_OK);
}

TEST(test_header__a_value_loses_its_blanks_and_a_list_has_all_lines)
{
	struct vbd_request req = {0};

	assert_int_equal(vbd_headers_add(&req, "PREFER", 6, "wait=1 \t", 8, NULL), VBD_OK);
	assert_int_equal(vbd_headers_add(&req, "Prefer", 6, "", 0, NULL), VBD_OK);
	assert_int_equal(vbd_headers_add(&req, "prefer", 6, "a=b", 3, NULL), VBD_OK);
	assert_int_equal(vbd_headers_add(&req, "X-Unknown", 9, "c", 1, NULL), VBD_OK);
	assert_string_equal(req.headers[VBD_HEADER_PREFER], "wait=1, , a=b");
	vbd_request_fini(&req);
}

TEST(test_header__what_two_parsers_could_read_differently_is_refused)
{
	static const char length[] =
		"the Content-Length is not a decimal number of at most 19 digits";
	static const struct {
		const char *lines, *why;
		bool http_1_0;
	} cases[] = {
		{"", "the Host is missing", false},
		{"Host: x\r\nHost: x\r\n", "there is more than one Host", false},
		{"Host: x\r\nHost: y\r\n", "there is more than one Host", true},
		{"Host : x\r\n", "the name of a header is not a token", false},
		{"Ho st: x\r\n", "the name of a header is not a token", false},
		{"Host: x\r\n: y\r\n", "the name of a header is not a token", false},
		{"A: b\001c\r\n", "the value of a header has control characters", false},
		{"A: b\rc\r\n", "the value of a header has control characters", false},
		{"Host: x\rc\r\n", "the value of a header has control characters", false},
		{"Host: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n",
			"there is more than one Content-Length", false},
		{"Host: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
			"there are both Content-Length and Transfer-Encoding", false},
		{"Host: x\r\nContent-Length: +1\r\n", length, false},
		{"Host: x\r\nContent-Length: 1 \r\n", length, false},
		{"Host: x\r\nContent-Length: 1, 1\r\n", length, false},
		{"Host: x\r\nContent-Length: 10000000000000000000\r\n", length, false},
		{"Host: x\r\nContent-Length:\r\n", length, false},
		{"Host: x\r\nTransfer-Encoding: xchunked\r\n",
			"the Transfer-Encoding is not exactly 'chunked'", false},
		{"Host: x\r\nTransfer-Encoding: chunked \r\n",
			"the Transfer-Encoding has more than 'chunked'", false},
		{"Host: x\r\nTransfer-Encoding: chunked, gzip\r\n",
			"the Transfer-Encoding is not exactly 'chunked'", false},
		{"Host: x\r\nTransfer-Encoding:\r\n",
			"the Transfer-Encoding is not exactly 'chunked'", false},
		{"Host: x\r\nTransfer-Encoding: gzip, chunked\r\n",
			"the Transfer-Encoding has more than 'chunked'", false},
		{"Host: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
			"there is more than one Transfer-Encoding", false},
		{"Transfer-Encoding: chunked\r\n", "HTTP/1.0 has no Transfer-Encoding", true},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		uint64_t content_bytes = 0;
		struct vbd_error err = {0};
		enum vbd_status status =
			check(cases[i].lines, !cases[i].http_1_0, &content_bytes, &err);
		bool coding = strstr(cases[i].why, "more than 'chunked'");

		assert_string_equal(err.text, cases[i].why);
		assert_int_equal(status, coding ? VBD_E_NOT_IMPLEMENTED : VBD_E_MALFORMED_REQUEST);
	}
}
