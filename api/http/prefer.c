/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/request.h"

#include <string.h>
#include <strings.h>

/* Find the comma that ends a preference, or the end; a comma inside quotes is skipped. */
static const char *end_of_preference(const char *at)
{
	bool quoted = false;

	for (; *at && (quoted || *at != ','); at++) {
		if (*at == '"')
			quoted = !quoted;
		else if (quoted && *at == '\\' && at[1])
			at++;
	}
	return at;
}

static bool ends_value(const char *at)
{
	return strchr(",;", at[strspn(at, " \t")]);
}

static bool parse_seconds(const char *at, unsigned int *ret_wait_s)
{
	unsigned int seconds = 0;
	bool any = false;
	bool quoted = *at == '"';

	at += quoted;
	for (;; any = true) {
		/* A character of a quoted string may have a backslash before it. */
		at += quoted && *at == '\\' && at[1] >= '0' && at[1] <= '9';
		if (*at < '0' || *at > '9')
			break;
		seconds = seconds * 10 + (unsigned int)(*at++ - '0');
		if (seconds > VBD_PREFER_WAIT_MAX_S)
			seconds = VBD_PREFER_WAIT_MAX_S;
	}
	if (!any || (quoted && *at++ != '"') || !ends_value(at))
		return false;
	*ret_wait_s = seconds;
	return true;
}

/* The value of the preference @name at @at; "" without one, NULL if another preference is there. */
static const char *value_of(const char *at, const char *name)
{
	size_t name_bytes = strlen(name);

	if (strncasecmp(at, name, name_bytes) != 0)
		return NULL;
	at += name_bytes;
	if (ends_value(at))
		return "";
	at += strspn(at, " \t");
	return *at == '=' ? at + 1 + strspn(at + 1, " \t") : NULL;
}

bool vbd_prefer_async(const char *value)
{
	while (value && *value) {
		const char *at;

		value += strspn(value, " \t,");
		at = value_of(value, "respond-async");
		/* RFC 7240, 2: an empty value is none. */
		if (at && (!*at || (strncmp(at, "\"\"", 2) == 0 && ends_value(at + 2))))
			return true;
		value = end_of_preference(value);
	}
	return false;
}

bool vbd_prefer_wait(const char *value, unsigned int *ret_wait_s)
{
	while (value && *value) {
		const char *at;

		value += strspn(value, " \t,");
		at = value_of(value, "wait");
		if (at && parse_seconds(at, ret_wait_s))
			return true;
		value = end_of_preference(value);
	}
	return false;
}
