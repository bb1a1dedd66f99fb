/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heads in these tests have the layout that libmicrohttpd 0.9.75 produces: '\0' in place of the
 * separators. tests/api_http checks that the real library does this. Proper heads are checked in
 * the layout of 1.0 as well, which has one '\0' behind each string.
 */
#include "api/http/wire.h"

#include "tests/unit/unit.h"

/* A request head as received. The parser below changes it as libmicrohttpd does. */
struct head {
	char bytes[1024];
	size_t len;
};

enum layout { LAYOUT_0_9_75, LAYOUT_1_0 };

/* Replace the end of a line, and in 1.0 the first blank before it; return the next line. */
static char *end_line(char *line, enum layout layout)
{
	char *end = rawmemchr(line, '\n');
	char *at = end - 1;

	if (layout == LAYOUT_1_0) {
		while (at > line && (at[-1] == ' ' || at[-1] == '\t'))
			at--;
		if (at > line)
			*at = '\0';
		return end + 1;
	}
	if (end > line && end[-1] == '\r')
		end[-1] = '\0';
	*end = '\0';
	return end + 1;
}

static enum vbd_status check_layout(const char *text, size_t len, enum layout layout,
	uint64_t *content_bytes, struct vbd_error *err)
{
	struct head head = {.len = len};
	struct vbd_wire wire = {0};
	char *method = head.bytes;
	char *line, *target, *version;

	memcpy(head.bytes, text, len);
	line = end_line(method, layout);
	target = strchr(method, ' ');
	*target++ = '\0';
	while (*target == ' ')
		target++;
	version = strrchr(target, ' ');
	*version++ = '\0';
	vbd_wire_target(&wire, target);
	vbd_wire_begin(&wire, method, version);
	while (*line != '\r' && *line != '\n') {
		char *next = end_line(line, layout);
		char *value = strchr(line, ':');

		*value++ = '\0';
		value += strspn(value, " \t");
		vbd_wire_header(&wire, line, strlen(line), value, strlen(value));
		line = next;
	}
	(void)end_line(line, layout);
	return vbd_wire_end(&wire, method, head.len, content_bytes, err);
}

static enum vbd_status check(
	const char *text, size_t len, uint64_t *content_bytes, struct vbd_error *err)
{
	return check_layout(text, len, LAYOUT_0_9_75, content_bytes, err);
}

TEST(test_wire__a_proper_head_passes)
{
	static const struct {
		const char *text;
		uint64_t content_bytes;
	} heads[] = {
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 0},
		{"GET / HTTP/1.1\r\nhost:x\r\nX-Empty:\r\nY: a\tb \r\n\r\n", 0},
		{"GET / HTTP/1.1\r\nHost: x  \r\nX: a \t \r\nY: b\t \t\r\n\r\n", 0},
		{"GET / HTTP/1.0\r\n\r\n", 0},
		{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n", 12},
		{"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n", UINT64_MAX},
		{"GET / HTTP/1.1\r\nHost: x\r\nPrefer: wait=1\r\nprefer: a\r\nIf-Match: *\r\n"
		 "If-Match: \"a\"\r\nVia: a\r\nVia: b\r\n\r\n",
			0},
	};

	for (size_t i = 0; i < 2 * VBD_ARRAY_LEN(heads); i++) {
		const char *text = heads[i / 2].text;
		uint64_t content_bytes = 1;
		struct vbd_error err = {0};

		if (check_layout(text, strlen(text), i % 2 ? LAYOUT_1_0 : LAYOUT_0_9_75,
			    &content_bytes, &err) != VBD_OK)
			fail_msg("%s: %s", text, err.text);
		assert_true(content_bytes == heads[i / 2].content_bytes);
	}
}

TEST(test_wire__what_two_parsers_could_read_differently_is_refused)
{
	static const struct {
		const char *head, *why;
	} cases[] = {
		{"GET / HTTP/1.1\r\n\r\n", "the Host is missing"},
		{"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", "there is more than one Host"},
		{"GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n", "there is more than one Host"},
		{"GET / HTTP/1.1\nHost: x\r\n\r\n",
			"the request line has extra spaces, a NUL, or no CR LF at its end"},
		{"GET / HTTP/1.1\r\nHost: x\n\r\n",
			"the head does not end with an empty line of CR LF"},
		{"GET / HTTP/1.1\r\nHost: x\r\n\n",
			"the head does not end with an empty line of CR LF"},
		{"GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
			"the request line has extra spaces, a NUL, or no CR LF at its end"},
		{"GET / HTTP/1.1 \r\nHost: x\r\n\r\n",
			"the request line has extra spaces, a NUL, or no CR LF at its end"},
		{"GET / HTTP/1.1\r\nHost : x\r\n\r\n", "the name of a header is not a token"},
		{"GET / HTTP/1.1\r\nHo st: x\r\n\r\n", "the name of a header is not a token"},
		{"GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n", "the name of a header is not a token"},
		{"GET / HTTP/1.1\r\nHost: x\r\nA: b\001c\r\n\r\n",
			"the value of a header has control characters, or no CR LF at its end"},
		{"GET / HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n",
			"the value of a header has control characters, or no CR LF at its end"},
		{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
			"there is more than one Content-Length"},
		{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: "
		 "chunked\r\n\r\n",
			"there are both Content-Length and Transfer-Encoding"},
		{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n",
			"the Content-Length is not a decimal number"},
		{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1 \r\n\r\n",
			"the Content-Length is not a decimal number"},
		{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\n",
			"the Content-Length is not a decimal number"},
		{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000000000000000\r\n\r\n",
			"the Content-Length is empty or has more than 19 digits"},
		{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n",
			"the Content-Length is empty or has more than 19 digits"},
		{"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n",
			"the Transfer-Encoding is not exactly 'chunked'"},
		{"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
			"the Transfer-Encoding is not exactly 'chunked'"},
		{"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
		 "chunked\r\n"
		 "\r\n",
			"there is more than one Transfer-Encoding"},
		{"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
			"HTTP/1.0 has no Transfer-Encoding"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		uint64_t content_bytes = 0;
		struct vbd_error err = {0};

		if (check(cases[i].head, strlen(cases[i].head), &content_bytes, &err) !=
			VBD_E_MALFORMED_REQUEST)
			fail_msg("passes: %s", cases[i].head);
		assert_string_equal(err.text, cases[i].why);
	}
}

TEST(test_wire__a_coding_before_chunked_is_not_implemented)
{
	static const char *const heads[] = {
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip,Chunked\r\n\r\n"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(heads); i++) {
		uint64_t content_bytes = 0;

		assert_int_equal(check(heads[i], strlen(heads[i]), &content_bytes, NULL),
			VBD_E_NOT_IMPLEMENTED);
	}
}

TEST(test_wire__a_nul_is_refused_wherever_it_hides)
{
	static const char in_target[] = "GET /li\0ve HTTP/1.1\r\nHost: x\r\n\r\n";
	static const char in_value[] = "GET / HTTP/1.1\r\nHost: x\0y\r\n\r\n";
	static const char two_in_value[] = "GET / HTTP/1.1\r\nA: b\0\0Host: x\r\nHost: x\r\n\r\n";
	uint64_t content_bytes = 0;
	struct vbd_wire wire = {0};
	char head[sizeof(in_target)];

	assert_int_equal(check(in_value, sizeof(in_value) - 1, &content_bytes, NULL),
		VBD_E_MALFORMED_REQUEST);
	assert_int_equal(check(two_in_value, sizeof(two_in_value) - 1, &content_bytes, NULL),
		VBD_E_MALFORMED_REQUEST);
	memcpy(head, in_target, sizeof(head));
	head[3] = head[10] = head[19] = head[20] = '\0';
	vbd_wire_target(&wire, head + 4);
	vbd_wire_begin(&wire, head, head + 11);
	assert_non_null(wire.fault);
}

TEST(test_wire__a_folded_line_is_refused)
{
	/* libmicrohttpd joins the lines in memory of its own, so the name is elsewhere. */
	static const char text[] = "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n";
	static const char joined_name[] = "A";
	static const char joined_value[] = "bc\0";
	struct vbd_wire wire = {0};
	char head[sizeof(text)];

	memcpy(head, text, sizeof(head));
	head[3] = head[5] = head[14] = head[15] = '\0';
	vbd_wire_target(&wire, head + 4);
	vbd_wire_begin(&wire, head, head + 6);
	assert_null(wire.fault);
	vbd_wire_header(&wire, joined_name, 1, joined_value, 2);
	assert_non_null(wire.fault);
}
