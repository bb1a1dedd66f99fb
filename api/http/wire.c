/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/wire.h"

#include <string.h>
#include <strings.h>

static void fault(struct vbd_wire *wire, const char *text)
{
	if (!wire->fault)
		wire->fault = text;
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
		fault(wire, "the request line has extra spaces, a NUL, or no CR LF at its end");
		return;
	}
	wire->http_1_1 = strcmp(version, "HTTP/1.0") != 0;
	wire->at = next_line(version + 8);
}

static bool is_token(const char *text, size_t len_bytes)
{
	static const char marks[] = "!#$%&'*+-.^_`|~"; /* RFC 9110, section 5.6.2 */

	for (size_t i = 0; i < len_bytes; i++) {
		char c = text[i];

		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
			continue;
		if (!c || !strchr(marks, c))
			return false;
	}
	return len_bytes != 0;
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

static void check_once(struct vbd_wire *wire, const char *name, size_t name_bytes)
{
	static const struct {
		const char *name;
		const char *text;
	} once[] = {
#define ONCE(name) {name, "there is more than one " name}
		ONCE("Authorization"),
		ONCE("Content-Type"),
		ONCE("Expect"),
		ONCE("Idempotency-Key"),
		ONCE("If-Match"),
		ONCE("If-None-Match"),
		ONCE("Last-Event-ID"),
		ONCE("Origin"),
		ONCE("Prefer"),
		ONCE("Range"),
		ONCE("Sec-Fetch-Site"),
		ONCE("Verbsd-If-Server"),
#undef ONCE
	};

	for (unsigned int i = 0; i < VBD_ARRAY_LEN(once); i++) {
		if (!name_is(name, name_bytes, once[i].name))
			continue;
		if (wire->seen & 1u << i)
			fault(wire, once[i].text);
		wire->seen |= 1u << i;
	}
}

/* Evaluate the headers that define the end of the request and its host. */
static void parse_framing(struct vbd_wire *wire, const char *name, size_t name_bytes,
	const char *value, size_t value_bytes)
{
	if (name_is(name, name_bytes, "Host")) {
		wire->hosts++;
	} else if (name_is(name, name_bytes, "Content-Length")) {
		wire->lengths++;
		wire->content_bytes = 0;
		if (!value_bytes || value_bytes > 19)
			fault(wire, "the Content-Length is empty or has more than 19 digits");
		for (size_t i = 0; i < value_bytes && i < 19; i++) {
			if (value[i] < '0' || value[i] > '9')
				fault(wire, "the Content-Length is not a decimal number");
			wire->content_bytes = wire->content_bytes * 10 +
					      (uint64_t)(unsigned char)(value[i] - '0');
		}
	} else if (name_is(name, name_bytes, "Transfer-Encoding")) {
		wire->encodings++;
		wire->chunked = true;
		if (!name_is(value, value_bytes, "chunked"))
			fault(wire, "the Transfer-Encoding is not exactly 'chunked'");
	}
}

void vbd_wire_header(struct vbd_wire *wire, const char *name, size_t name_bytes, const char *value,
	size_t value_bytes)
{
	if (wire->fault)
		return;
	if (name != wire->at || name[name_bytes] != '\0') {
		fault(wire, "a header line is folded, has a NUL, or has no CR LF at its end");
		return;
	}
	if (!is_token(name, name_bytes)) {
		fault(wire, "the name of a header is not a token");
		return;
	}
	for (const char *gap = name + name_bytes + 1; gap != value; gap++) {
		if (*gap != ' ' && *gap != '\t') {
			fault(wire, "a header line has invalid characters after its colon");
			return;
		}
	}
	if (!is_field_value(value, value_bytes) || value[value_bytes] != '\0' ||
		!next_line(value + value_bytes)) {
		fault(wire, "the value of a header has control characters, or no CR LF at its end");
		return;
	}
	wire->at = next_line(value + value_bytes);
	check_once(wire, name, name_bytes);
	parse_framing(wire, name, name_bytes, value, value_bytes);
}

static void check_framing(struct vbd_wire *wire)
{
	if (wire->hosts > 1 || (wire->http_1_1 && !wire->hosts))
		fault(wire, wire->hosts ? "there is more than one Host" : "the Host is missing");
	if (wire->lengths > 1)
		fault(wire, "there is more than one Content-Length");
	if (wire->encodings > 1)
		fault(wire, "there is more than one Transfer-Encoding");
	if (wire->encodings && !wire->http_1_1)
		fault(wire, "HTTP/1.0 has no Transfer-Encoding");
	if (wire->lengths && wire->encodings)
		fault(wire, "there are both Content-Length and Transfer-Encoding");
}

enum vbd_status vbd_wire_end(struct vbd_wire *wire, const char *method, size_t head_bytes,
	uint64_t *ret_content_bytes, struct vbd_error *err)
{
	if (!wire->fault &&
		(wire->at + 2 != method + head_bytes ||
			(memcmp(wire->at, "\0", 2) != 0 && memcmp(wire->at, "\r\n", 2) != 0)))
		fault(wire, "the head does not end with an empty line of CR LF");
	check_framing(wire);
	if (wire->fault)
		return vbd_error_set(err, VBD_E_MALFORMED_REQUEST, "%s", wire->fault);
	*ret_content_bytes = wire->chunked ? UINT64_MAX : wire->content_bytes;
	return VBD_OK;
}
