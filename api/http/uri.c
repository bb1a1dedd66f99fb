/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/uri.h"

#include "base/text.h"

#include <strings.h>

/* A malformed target, with what to do about it. */
#define REFUSE(err, hint, ...) \
	vbd_error_hint((err), vbd_error_set((err), VBD_E_MALFORMED_REQUEST, __VA_ARGS__), (hint))

/* Decode in place. @in_query: '+' is a space, and an encoded slash is allowed. */
static enum vbd_status decode(char *text, bool in_query, struct vbd_error *err)
{
	char *out = text;

	for (const char *in = text; *in; in++, out++) {
		char digits[3] = "";

		*out = *in;
		if (in_query && *in == '+')
			*out = ' ';
		if (*in != '%')
			continue;
		(void)strncat(digits, in + 1, 2);
		if (strspn(digits, "0123456789abcdefABCDEF") != 2)
			return REFUSE(err, "Write % itself as %25.",
				"the request target has a '%%' without two hex digits after it");
		*out = (char)strtoul(digits, NULL, 16);
		in += 2;
		if ((*out >= '\0' && *out < ' ') || (*out == '/' && !in_query))
			return REFUSE(err, "No path of verbsd has such a character.",
				"the request target has an encoded %s",
				*out == '/' ? "slash in its path" : "control character");
	}
	*out = '\0';
	if (!vbd_utf8_printable(text, strlen(text)))
		return REFUSE(err, "Write text as UTF-8, and each of its bytes with %.",
			"the request target, decoded, is not printable UTF-8");
	return VBD_OK;
}

static enum vbd_status parse_path(char *path, struct vbd_uri *uri, struct vbd_error *err)
{
	char *next = path + 1;
	char *segment;

	while ((segment = strsep(&next, "/"))) {
		enum vbd_status status = decode(segment, false, err);

		if (status != VBD_OK)
			return status;
		if (strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0)
			return REFUSE(err, "Write the path without . and .. between slashes.",
				"the request target has a dot segment");
		if (uri->n_segments < VBD_URI_SEGMENTS_MAX)
			uri->segments[uri->n_segments] = segment;
		uri->n_segments++;
	}
	return VBD_OK;
}

static enum vbd_status parse_query(char *query, struct vbd_uri *uri, struct vbd_error *err)
{
	char *name;

	while ((name = strsep(&query, "&"))) {
		struct vbd_uri_param param = {.value = ""};
		char *value;
		enum vbd_status status;

		if (!*name)
			continue;
		value = strchr(name, '=');
		if (value) {
			*value++ = '\0';
			status = decode(value, true, err);
			if (status != VBD_OK)
				return status;
			param.value = value;
		}
		status = decode(name, true, err);
		if (status != VBD_OK)
			return status;
		if (vbd_uri_param(uri, name))
			return vbd_error_hint(err,
				vbd_error_input(err, VBD_E_MALFORMED_REQUEST, name,
					"the parameter '%.64s' is given twice", name),
				"Give each parameter once.");
		if (uri->n_params == VBD_URI_PARAMS_MAX)
			return REFUSE(err, "No path takes as many parameters.",
				"the request target has more than %d parameters",
				VBD_URI_PARAMS_MAX);
		param.name = name;
		uri->params[uri->n_params++] = param;
	}
	return VBD_OK;
}

char *vbd_uri_split(char *text, const char **ret_scheme, const char **ret_authority)
{
	const char *scheme = strncasecmp(text, "http://", 7) == 0    ? "http"
			     : strncasecmp(text, "https://", 8) == 0 ? "https"
								     : NULL;
	char *path = text;
	size_t len;

	if (!scheme)
		return text;
	path += strlen(scheme) + strlen("://");
	len = strcspn(path, "/?");
	if (!len)
		return text;
	memmove(text, path, len);
	text[len] = '\0';
	path += len;
	if (*path != '/')
		*--path = '/'; /* for an empty path; the authority has moved from here */
	*ret_scheme = scheme;
	*ret_authority = text;
	return path;
}

enum vbd_status vbd_uri_parse(char *text, struct vbd_uri *ret_uri, struct vbd_error *err)
{
	struct vbd_uri uri = {0};
	enum vbd_status status;
	char *query;

	if (text[0] != '/')
		return REFUSE(err, "Begin the target with a slash, or with http:// and a host.",
			"the request target is not a path from the root");
	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		if (*at <= ' ' || *at >= 0x7f || *at == '#' || *at == '\\')
			return REFUSE(err, "Write each such byte as % and two hex digits.",
				"the request target has a byte that must be encoded");
	}
	query = strchr(text, '?');
	if (query)
		*query++ = '\0';
	status = parse_path(text, &uri, err);
	if (status == VBD_OK && query)
		status = parse_query(query, &uri, err);
	if (status == VBD_OK)
		*ret_uri = uri;
	return status;
}

const char *vbd_uri_param(const struct vbd_uri *uri, const char *name)
{
	for (size_t i = 0; i < uri->n_params; i++) {
		if (strcmp(uri->params[i].name, name) == 0)
			return uri->params[i].value;
	}
	return NULL;
}
