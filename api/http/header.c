/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/header.h"

#include "api/http/request.h"

#include <string.h>
#include <strings.h>

enum requests { ALL, POST, WAIT, PART, STREAM };

#define TWICE_ONE(name)	 "there is more than one " name
#define TWICE_LIST(name) NULL

static const struct row {
	const char *name;
	const char *twice;
	enum requests requests;
} rows[VBD_HEADER_COUNT] = {
#define ROW(sym, name, lines, requests, check) \
	[VBD_HEADER_##sym] = {name, TWICE_##lines(name), requests},
	VBD_HEADER_MAP(ROW)
#undef ROW
};

const char *vbd_header_name(enum vbd_header header)
{
	return rows[header].name;
}

enum vbd_header vbd_header_find(const char *name, size_t name_bytes)
{
	unsigned int i = 0;

	while (i < VBD_HEADER_COUNT &&
		(strncasecmp(rows[i].name, name, name_bytes) != 0 || rows[i].name[name_bytes]))
		i++;
	return (enum vbd_header)i;
}

const char *vbd_header_twice(enum vbd_header header)
{
	return rows[header].twice;
}

bool vbd_header_applies(enum vbd_header header, const struct vbd_request *req)
{
	switch (rows[header].requests) {
	case ALL:
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
