/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/header.h"

#include "api/http/request.h"
#include "base/text.h"

#include <strings.h>

#define HINT_FIELD  "Put nothing but a colon behind a header's name, and only text behind that."
#define HINT_ONCE   "Send the header once."
#define HINT_HOST   "Send one Host: the name or address of verbsd, and its port."
#define HINT_LENGTH "Send one Content-Length in digits, or Transfer-Encoding: chunked, not both."

enum requests { ALL, FRAME, POST, WAIT, PART, STREAM };

#define TWICE_ONE(name)	 "there is more than one " name
#define TWICE_LIST(name) NULL

static const struct row {
	const char *name;
	size_t name_bytes;
	const char *twice;
	enum requests requests;
} rows[VBD_HEADER_COUNT] = {
#define ROW(sym, name, lines, requests, check) \
	[VBD_HEADER_##sym] = {name, sizeof(name) - 1, TWICE_##lines(name), requests},
	VBD_HEADER_MAP(ROW)
#undef ROW
};

const char *vbd_header_name(enum vbd_header header)
{
	return rows[header].name;
}

bool vbd_is_token(const char *text, size_t len_bytes)
{
	return len_bytes && vbd_text_has_only(text, len_bytes, "!#$%&'*+-.^_`|~");
}

static enum vbd_header find_header(const char *name, size_t name_bytes)
{
	unsigned int i = 0;

	while (i < VBD_HEADER_COUNT && (rows[i].name_bytes != name_bytes ||
					       strncasecmp(rows[i].name, name, name_bytes) != 0))
		i++;
	return (enum vbd_header)i;
}

static enum vbd_status refuse(struct vbd_error *err, const char *hint, const char *text)
{
	return vbd_error_hint(err, vbd_error_set(err, VBD_E_MALFORMED_REQUEST, "%s", text), hint);
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

/* Several lines of a list mean the same as one line with all members (RFC 9110, 5.3). */
static bool keep_value(char **kept, const char *value, size_t len_bytes)
{
	char *before = *kept;

	if (!before)
		*kept = strndup(value, len_bytes);
	else if (asprintf(kept, "%s, %.*s", before, (int)len_bytes, value) < 0)
		*kept = NULL;
	free(before);
	return *kept;
}

enum vbd_status vbd_headers_add(struct vbd_request *req, const char *name, size_t name_bytes,
	const char *value, size_t value_bytes, struct vbd_error *err)
{
	enum vbd_header header = find_header(name, name_bytes);

	if (header == VBD_HEADER_COUNT && !vbd_is_token(name, name_bytes))
		return refuse(err, HINT_FIELD, "the name of a header is not a token");
	if (!is_field_value(value, value_bytes))
		return refuse(err, HINT_FIELD, "the value of a header has control characters");
	if (header == VBD_HEADER_COUNT)
		return VBD_OK;
	if (req->headers[header] && rows[header].twice)
		return refuse(err, HINT_ONCE, rows[header].twice);
	while (rows[header].requests != FRAME && value_bytes &&
		(value[value_bytes - 1] == ' ' || value[value_bytes - 1] == '\t'))
		value_bytes--;
	return keep_value(&req->headers[header], value, value_bytes)
		       ? VBD_OK
		       : vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the headers");
}

/* --- the end of the request ------------------------------------------------------------------ */

/* True for "gzip, chunked": "chunked" is the last coding, and stands there once. */
static bool ends_with_chunked(const char *value)
{
	unsigned int chunked = 0;
	bool last = false;
	size_t len;

	for (const char *at = vbd_header_next(value, &len); at;
		at = vbd_header_next(at + len, &len)) {
		last = len == strlen("chunked") && strncasecmp(at, "chunked", len) == 0;
		chunked += last;
	}
	return last && chunked == 1;
}

/* RFC 9112, 6.1 and 6.3: the end is known only if "chunked" is the last coding. */
static enum vbd_status frame_by_coding(
	struct vbd_request *req, const char *coding, bool http_1_1, struct vbd_error *err)
{
	if (!http_1_1)
		return refuse(err, HINT_LENGTH, "HTTP/1.0 has no Transfer-Encoding");
	if (req->headers[VBD_HEADER_CONTENT_LENGTH])
		return refuse(
			err, HINT_LENGTH, "there are both Content-Length and Transfer-Encoding");
	req->content_bytes = UINT64_MAX;
	if (strcasecmp(coding, "chunked") == 0)
		return VBD_OK;
	if (ends_with_chunked(coding))
		return vbd_error_set(err, VBD_E_NOT_IMPLEMENTED,
			"the Transfer-Encoding has more than 'chunked'");
	return refuse(err, HINT_LENGTH, "the Transfer-Encoding is not exactly 'chunked'");
}

enum vbd_status vbd_headers_frame(struct vbd_request *req, bool http_1_1, struct vbd_error *err)
{
	const char *length = req->headers[VBD_HEADER_CONTENT_LENGTH];
	const char *coding = req->headers[VBD_HEADER_TRANSFER_ENCODING];

	req->content_bytes = 0;
	if (http_1_1 && !req->headers[VBD_HEADER_HOST])
		return refuse(err, HINT_HOST, "the Host is missing");
	if (coding)
		return frame_by_coding(req, coding, http_1_1, err);
	if (!length)
		return VBD_OK;
	if (!*length || strspn(length, "0123456789") != strlen(length) || strlen(length) > 19)
		return refuse(err, HINT_LENGTH,
			"the Content-Length is not a decimal number of at most 19 digits");
	req->content_bytes = strtoull(length, NULL, 10);
	return VBD_OK;
}

/* --- requests and fields --------------------------------------------------------------------- */

bool vbd_header_applies(enum vbd_header header, const struct vbd_request *req)
{
	switch (rows[header].requests) {
	case ALL:
	case FRAME:
		return true;
	case POST:
		return req->method == VBD_METHOD_POST;
	case WAIT:
		return req->route && vbd_route_waits(req->route);
	case PART:
		return req->route && req->route->parts && !req->head;
	case STREAM:
		return req->route && req->route->stream;
	}
	return false;
}

const char *vbd_header_next(const char *at, size_t *ret_len)
{
	const char *end;
	bool quoted = false;

	at += strspn(at, " \t,");
	for (end = at; *end && (quoted || *end != ','); end++) {
		if (*end == '"')
			quoted = !quoted;
	}
	while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*ret_len = (size_t)(end - at);
	return *at ? at : NULL;
}

/* --- faults of header fields ----------------------------------------------------------------- */

bool vbd_header_all_are(const char *list, const char *word)
{
	size_t len;

	for (const char *at = vbd_header_next(list, &len); at;
		at = vbd_header_next(at + len, &len)) {
		if (len != strlen(word) || strncasecmp(at, word, len) != 0)
			return false;
	}
	return true;
}

static enum vbd_status check_coding(
	struct vbd_request *req, const char *value, struct vbd_error *err)
{
	if (!value || vbd_header_all_are(value, "identity"))
		return VBD_OK;
	vbd_reply_add_header(&req->reply, "Accept-Encoding", "identity");
	(void)vbd_error_set(err, VBD_E_UNSUPPORTED_MEDIA_TYPE,
		"the Content-Encoding is %.64s; %s takes bodies without one", value, req->path);
	return vbd_error_hint(
		err, err->status, "Send the body as it is, without Content-Encoding.");
}

/* RFC 9110, 14.5: a server without partial PUT must not store the part as if it were the whole. */
static enum vbd_status refuse_part(
	struct vbd_request *req, const char *value, struct vbd_error *err)
{
	if (!value)
		return VBD_OK;
	(void)vbd_error_input(err, VBD_E_BAD_VALUE, "Content-Range",
		"the Content-Range is %.64s; %s takes no part of a body by it", value, req->path);
	return vbd_error_hint(err, err->status,
		"Leave Content-Range out; the parameter offset_bytes is where a PUT of data "
		"writes.");
}

static enum vbd_status refuse_method(
	struct vbd_request *req, const char *value, struct vbd_error *err)
{
	if (!value)
		return VBD_OK;
	(void)req;
	(void)vbd_error_input(err, VBD_E_BAD_VALUE, "X-HTTP-Method-Override",
		"a header asks for the method %.32s; only the request line says the method", value);
	return vbd_error_hint(err, err->status, "Send the method that is meant.");
}

static enum vbd_status check_expectation(
	struct vbd_request *req, const char *value, struct vbd_error *err)
{
	(void)req;
	if (!value || vbd_header_all_are(value, "100-continue"))
		return VBD_OK;
	return vbd_error_set(err, VBD_E_EXPECTATION_FAILED,
		"the request expects %.64s; only 100-continue is known", value);
}

/* Compare a Content-Type, without its parameters and case, with @type. */
static bool media_type_is(const char *header, const char *type)
{
	size_t len = strlen(type);

	if (strncasecmp(header, type, len) != 0)
		return false;
	header += len;
	header += strspn(header, " \t");
	return *header == '\0' || *header == ';';
}

/*
 * True for a request of a browser that may change something. It needs a Content-Type even without a
 * body: a form of another site can't set one, and a script of one needs a preflight (CORS).
 */
static bool is_browser_write(struct vbd_request *req)
{
	return req->method != VBD_METHOD_GET &&
	       (vbd_request_header(req, VBD_HEADER_ORIGIN) ||
		       vbd_request_header(req, VBD_HEADER_SEC_FETCH_SITE));
}

static enum vbd_status check_media_type(
	struct vbd_request *req, const char *type, struct vbd_error *err)
{
	bool stream = req->route->body == VBD_BODY_STREAM;
	const char *want = stream ? "application/octet-stream" : "application/json";

	if (req->content_bytes == 0 && !stream && !is_browser_write(req))
		return VBD_OK;
	if (stream ? !type || media_type_is(type, want) : type && media_type_is(type, want))
		return VBD_OK;
	vbd_reply_add_header(
		&req->reply, req->method == VBD_METHOD_PATCH ? "Accept-Patch" : "Accept", want);
	return vbd_error_set(err, VBD_E_UNSUPPORTED_MEDIA_TYPE,
		"the Content-Type is %.64s; %s takes %s", type ? type : "absent", req->path, want);
}

static enum vbd_status (*const checks[VBD_HEADER_COUNT])(
	struct vbd_request *req, const char *value, struct vbd_error *err) = {
#define CHECK(sym, name, lines, requests, check) [VBD_HEADER_##sym] = check,
	VBD_HEADER_MAP(CHECK)
#undef CHECK
};

enum vbd_status vbd_headers_check(struct vbd_request *req, struct vbd_error *err)
{
	for (unsigned int i = 0; i < VBD_HEADER_COUNT; i++) {
		if (checks[i] &&
			checks[i](req, vbd_request_header(req, (enum vbd_header)i), err) != VBD_OK)
			return err->status;
	}
	return VBD_OK;
}

/* --- Range ----------------------------------------------------------------------------------- */

/* Parse a number, which saturates; false if @at does not point to a digit. */
static bool parse_number(const char **at, uint64_t *ret)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*ret = strtoull(*at, &end, 10);
	*at = end;
	return true;
}

enum vbd_range vbd_range_parse(
	const char *value, uint64_t size_bytes, uint64_t *ret_first, uint64_t *ret_length_bytes)
{
	uint64_t first = 0, last = UINT64_MAX;
	bool has_first, has_last;

	if (!value || strncasecmp(value, "bytes=", 6) != 0)
		return VBD_RANGE_WHOLE;
	value += 6;
	value += strspn(value, " \t");
	has_first = parse_number(&value, &first);
	if (*value++ != '-')
		return VBD_RANGE_WHOLE;
	has_last = parse_number(&value, &last);
	value += strspn(value, " \t");
	if (*value || (!has_first && !has_last) || (has_first && has_last && last < first))
		return VBD_RANGE_WHOLE;
	if (!has_first) { /* "bytes=-500": the last 500 bytes */
		if (!last)
			return VBD_RANGE_OUTSIDE;
		first = last < size_bytes ? size_bytes - last : 0;
		last = UINT64_MAX;
	}
	if (first >= size_bytes)
		return VBD_RANGE_OUTSIDE;
	if (last >= size_bytes)
		last = size_bytes - 1;
	*ret_first = first;
	*ret_length_bytes = last - first + 1;
	return VBD_RANGE_PART;
}

/* --- Prefer ---------------------------------------------------------------------------------- */

#define VALUE_BYTES 64

/* Copy the value from "= VALUE ; parameters" without its quotes, "" if there is none; false if it
 * is malformed or too long. */
static bool copy_preference(const char *at, const char *end, char value[VALUE_BYTES])
{
	size_t used = 0;
	bool quoted = false;

	at += strspn(at, " \t");
	if (*at == '=') {
		at += 1 + strspn(at + 1, " \t");
		quoted = *at == '"';
		at += quoted;
		while (at < end && used < VALUE_BYTES - 1 && !strchr(quoted ? "\"" : " \t;", *at)) {
			at += quoted && *at == '\\' && at + 1 < end;
			value[used++] = *at++;
		}
	}
	value[used] = '\0';
	if (quoted && *at++ != '"')
		return false;
	at += strspn(at, " \t");
	return at >= end || *at == ';';
}

/* Find the first preference @name whose value has only characters of @chars; "": no value. */
static bool find_preference(
	const char *list, const char *name, const char *chars, char value[VALUE_BYTES])
{
	size_t len;

	for (const char *at = list ? vbd_header_next(list, &len) : NULL; at;
		at = vbd_header_next(at + len, &len)) {
		if (strncasecmp(at, name, strlen(name)) == 0 &&
			copy_preference(at + strlen(name), at + len, value) && !*value == !*chars &&
			!value[strspn(value, chars)])
			return true;
	}
	return false;
}

bool vbd_prefer_async(const char *value)
{
	char empty[VALUE_BYTES];

	return find_preference(value, "respond-async", "", empty);
}

bool vbd_prefer_wait(const char *value, unsigned int *ret_wait_s)
{
	char digits[VALUE_BYTES];
	unsigned long wait_s;

	if (!find_preference(value, "wait", "0123456789", digits))
		return false;
	wait_s = strtoul(digits, NULL, 10);
	*ret_wait_s = wait_s < VBD_PREFER_WAIT_MAX_S ? (unsigned int)wait_s : VBD_PREFER_WAIT_MAX_S;
	return true;
}

/* --- If-Match and If-None-Match -------------------------------------------------------------- */

#define HINT_NO_TAG "There is no ETag to name here: leave If-Match out, or send If-Match: *."
#define HINT_THERE  "Leave If-None-Match out: it asks for nothing to be done if there is something."

static bool is_weak(const char *tag)
{
	return strncmp(tag, "W/", 2) == 0;
}

/* The comparisons of RFC 9110, 8.8.3.2: a strong one takes no weak tag, a weak one ignores "W/". */
static bool list_has_tag(const char *list, const char *tag, bool weakly)
{
	size_t len;

	if (tag && is_weak(tag))
		tag = weakly ? tag + 2 : NULL;
	for (const char *at = vbd_header_next(list, &len); at;
		at = vbd_header_next(at + len, &len)) {
		size_t skip = weakly && is_weak(at) ? 2 : 0;

		/* RFC 9110, 13.1.1: "*" stands alone; a malformed list matches nothing. */
		if (len == 1 && *at == '*')
			return weakly || !strchr(list, ',');
		if (tag && len == skip + strlen(tag) && memcmp(at + skip, tag, len - skip) == 0)
			return true;
	}
	return false;
}

static enum vbd_status refuse_condition(
	const struct vbd_condition_of *of, const char *known, struct vbd_error *err)
{
	if (of->absent)
		return vbd_error_set(err, VBD_E_CHANGED_MEANWHILE,
			"there is no such %s now; the request is for %.64s", of->what, known);
	if (of->tag)
		return vbd_error_set(err, VBD_E_CHANGED_MEANWHILE,
			"the %s has changed: its ETag is %s now; the request is for %.64s",
			of->what, of->tag, known);
	(void)vbd_error_set(err, VBD_E_CHANGED_MEANWHILE, "%.96s has no ETag, so none is %.64s",
		of->what, known);
	return vbd_error_hint(err, err->status, HINT_NO_TAG);
}

enum vbd_status vbd_condition_check(
	struct vbd_request *req, const struct vbd_condition_of *of, struct vbd_error *err)
{
	const char *known = vbd_request_header(req, VBD_HEADER_IF_MATCH);

	if (known && (of->absent || !list_has_tag(known, of->tag, false)))
		return refuse_condition(of, known, err);
	if (req->method == VBD_METHOD_GET || of->absent || !vbd_condition_is_known(req, of->tag))
		return VBD_OK;
	(void)vbd_error_set(err, VBD_E_CHANGED_MEANWHILE,
		"there is something at %.96s, and the request is for the case that there is not",
		req->path);
	return vbd_error_hint(err, err->status, HINT_THERE);
}

bool vbd_condition_is_known(struct vbd_request *req, const char *tag)
{
	const char *known = vbd_request_header(req, VBD_HEADER_IF_NONE_MATCH);

	return known && list_has_tag(known, tag, true);
}
