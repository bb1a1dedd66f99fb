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

static bool parse_seconds(const char *at, unsigned int *ret_wait_s)
{
	unsigned int seconds = 0;
	bool quoted = *at == '"';

	at += quoted;
	if (*at < '0' || *at > '9')
		return false;
	for (; *at >= '0' && *at <= '9'; at++) {
		seconds = seconds * 10 + (unsigned int)(*at - '0');
		if (seconds > VBD_PREFER_WAIT_MAX_S)
			seconds = VBD_PREFER_WAIT_MAX_S;
	}
	if (quoted && *at++ != '"')
		return false;
	at += strspn(at, " \t");
	if (*at && *at != ',' && *at != ';')
		return false;
	*ret_wait_s = seconds;
	return true;
}

bool vbd_prefer_async(const char *value)
{
	static const char name[] = "respond-async";

	while (value && *value) {
		value += strspn(value, " \t,");
		if (strncasecmp(value, name, sizeof(name) - 1) == 0 &&
			strchr(" \t,;", value[sizeof(name) - 1]))
			return true;
		value = end_of_preference(value);
	}
	return false;
}

bool vbd_prefer_wait(const char *value, unsigned int *ret_wait_s)
{
	while (value && *value) {
		value += strspn(value, " \t,");
		if (strncasecmp(value, "wait", 4) == 0) {
			const char *at = value + 4;

			at += strspn(at, " \t");
			if (*at == '=') {
				at += 1 + strspn(at + 1, " \t");
				if (parse_seconds(at, ret_wait_s))
					return true;
			}
		}
		value = end_of_preference(value);
	}
	return false;
}
