/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/wire.h"

#include "api/http/header.h"
#include "base/text.h"

#include <strings.h>

#define HINT_LINES  "End each line with CR LF, and put nothing but a colon behind a header's name."
#define HINT_ONCE   "Send the header once."
#define HINT_HOST   "Send one Host: the name or address of verbsd, and its port."
#define HINT_LENGTH "Send one Content-Length in digits, or Transfer-Encoding: chunked, not both."

static void fail(struct vbd_wire *wire, enum vbd_status status, const char *text, const char *hint)
{
	if (wire->fault)
		return;
	wire->status = status;
	wire->fault = text;
	wire->hint = hint;
}

static void fault(struct vbd_wire *wire, const char *text, const char *hint)
{
	fail(wire, VBD_E_MALFORMED_REQUEST, text, hint);
}

void vbd_wire_target(struct vbd_wire *wire, const char *target)
{
	wire->target = target;
	wire->target_bytes = strlen(target);
}

/*
 * The first byte of the next line; NULL if the line before does not end by CR LF.
 * @end: the NUL behind the last string of the line
 */
static const char *next_line(const char *end)
{
	const char *at = end + 1;

	if (*at == '\0' || *at == '\n')
		return at + 1;
	while (*at == ' ' || *at == '\t')
		at++;
	return at[0] == '\r' && at[1] == '\n' ? at + 2 : NULL;
}

void vbd_wire_begin(struct vbd_wire *wire, const char *method, const char *version)
{
	if (wire->target != method + strlen(method) + 1 ||
		version != wire->target + wire->target_bytes + 1 || strlen(version) != 8 ||
		!next_line(version + 8)) {
		fault(wire, "the request line has extra spaces, a NUL, or no CR LF at its end",
			HINT_LINES);
		return;
	}
	wire->http_1_1 = strcmp(version, "HTTP/1.0") != 0;
	wire->at = next_line(version + 8);
}

bool vbd_wire_is_token(const char *text, size_t len_bytes)
{
	return len_bytes && vbd_text_has_only(text, len_bytes, "!#$%&'*+-.^_`|~");
}

static bool is_field_value(const char *text, size_t len_bytes)
{
	for (size_t i = 0; i < len_bytes; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static bool name_is(const char *name, size_t name_bytes, const char *want)
{
	return name_bytes == strlen(want) && strncasecmp(name, want, name_bytes) == 0;
}

static void check_not_repeated(struct vbd_wire *wire, const char *name, size_t name_bytes)
{
	enum vbd_header header = vbd_header_find(name, name_bytes);

	if (header == VBD_HEADER_COUNT)
		return;
	if (wire->seen & 1u << header && vbd_header_twice(header))
		fault(wire, vbd_header_twice(header), HINT_ONCE);
	wire->seen |= 1u << header;
}

/* True for "gzip, chunked": "chunked" is the last coding, and stands there once. */
static bool ends_with_chunked(const char *value)
{
	unsigned int chunked = 0;
	bool last = false;
	size_t len;

	for (const char *at = vbd_header_next(value, &len); at;
		at = vbd_header_next(at + len, &len)) {
		last = name_is(at, len, "chunked");
		chunked += last;
	}
	return last && chunked == 1;
}

/* RFC 9112, 6.1 and 6.3: the end is known only if "chunked" is the last coding. */
static void check_codings(struct vbd_wire *wire, const char *value, size_t value_bytes)
{
	if (name_is(value, value_bytes, "chunked"))
		return;
	if (ends_with_chunked(value))
		fail(wire, VBD_E_NOT_IMPLEMENTED, "the Transfer-Encoding has more than 'chunked'",
			NULL);
	fault(wire, "the Transfer-Encoding is not exactly 'chunked'", HINT_LENGTH);
}

/* Evaluate the headers that define the end of the request. */
static void parse_framing(struct vbd_wire *wire, const char *name, size_t name_bytes,
	const char *value, size_t value_bytes)
{
	if (name_is(name, name_bytes, "Content-Length")) {
		wire->lengths++;
		if (!value_bytes || value_bytes > 19)
			fault(wire, "the Content-Length is empty or has more than 19 digits",
				HINT_LENGTH);
		if (strspn(value, "0123456789") < value_bytes)
			fault(wire, "the Content-Length is not a decimal number", HINT_LENGTH);
		wire->content_bytes = strtoull(value, NULL, 10);
	} else if (name_is(name, name_bytes, "Transfer-Encoding")) {
		wire->encodings++;
		check_codings(wire, value, value_bytes);
	}
}

void vbd_wire_header(struct vbd_wire *wire, const char *name, size_t name_bytes, const char *value,
	size_t value_bytes)
{
	if (wire->fault)
		return;
	if (name != wire->at || name[name_bytes] != '\0') {
		fault(wire, "a header line is folded, has a NUL, or has no CR LF at its end",
			HINT_LINES);
		return;
	}
	if (!vbd_wire_is_token(name, name_bytes)) {
		fault(wire, "the name of a header is not a token", HINT_LINES);
		return;
	}
	for (const char *gap = name + name_bytes + 1; gap != value; gap++) {
		if (*gap != ' ' && *gap != '\t') {
			fault(wire, "a header line has invalid characters after its colon",
				HINT_LINES);
			return;
		}
	}
	if (!is_field_value(value, value_bytes) || value[value_bytes] != '\0' ||
		!next_line(value + value_bytes)) {
		fault(wire, "the value of a header has control characters, or no CR LF at its end",
			HINT_LINES);
		return;
	}
	wire->at = next_line(value + value_bytes);
	check_not_repeated(wire, name, name_bytes);
	parse_framing(wire, name, name_bytes, value, value_bytes);
}

static void check_framing(struct vbd_wire *wire)
{
	if (wire->http_1_1 && !(wire->seen & 1u << VBD_HEADER_HOST))
		fault(wire, "the Host is missing", HINT_HOST);
	if (wire->lengths > 1)
		fault(wire, "there is more than one Content-Length", HINT_LENGTH);
	if (wire->encodings > 1)
		fault(wire, "there is more than one Transfer-Encoding", HINT_LENGTH);
	if (wire->encodings && !wire->http_1_1)
		fault(wire, "HTTP/1.0 has no Transfer-Encoding", HINT_LENGTH);
	if (wire->lengths && wire->encodings)
		fault(wire, "there are both Content-Length and Transfer-Encoding", HINT_LENGTH);
}

enum vbd_status vbd_wire_end(struct vbd_wire *wire, const char *method, size_t head_bytes,
	uint64_t *ret_content_bytes, struct vbd_error *err)
{
	if (!wire->fault &&
		(wire->at + 2 != method + head_bytes ||
			(memcmp(wire->at, "\0", 2) != 0 && memcmp(wire->at, "\r\n", 2) != 0)))
		fault(wire, "the head does not end with an empty line of CR LF", HINT_LINES);
	check_framing(wire);
	if (wire->fault)
		return vbd_error_hint(
			err, vbd_error_set(err, wire->status, "%s", wire->fault), wire->hint);
	*ret_content_bytes = wire->encodings ? UINT64_MAX : wire->content_bytes;
	return VBD_OK;
}
