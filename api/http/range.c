/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/range.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Parse a number, which saturates; false if @at does not point to a digit. */
static bool parse_number(const char **at, uint64_t *ret)
{
	uint64_t number = 0;

	if (**at < '0' || **at > '9')
		return false;
	for (; **at >= '0' && **at <= '9'; ++*at) {
		unsigned int digit = (unsigned int)(**at - '0');

		number = number > (UINT64_MAX - digit) / 10 ? UINT64_MAX : number * 10 + digit;
	}
	*ret = number;
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
