/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quantity.h"

#include "base/attr.h"

#include <ctype.h>
#include <strings.h>

static bool parse(const char *digits, int base, uint64_t *ret_value)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(digits, &end, base);
	if (errno || *end || value > INT64_MAX)
		return false;
	*ret_value = value;
	return true;
}

bool vbd_parse_uint(const char *text, uint64_t *ret_value)
{
	return isdigit((unsigned char)text[0]) && parse(text, 10, ret_value);
}

bool vbd_parse_number(const char *text, uint64_t *ret_value)
{
	if (text[0] != '0' || (text[1] != 'x' && text[1] != 'X'))
		return vbd_parse_uint(text, ret_value);
	/* strtoull(3) would take a sign, spaces and a second "0x" as well. */
	return isxdigit((unsigned char)text[2]) && text[3] != 'x' && text[3] != 'X' &&
	       parse(text + 2, 16, ret_value);
}

bool vbd_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char letters[] = "KMGT";
	size_t digits = strspn(text, "0123456789");
	const char *unit = text + digits;
	unsigned int shift = 0;
	uint64_t value;
	char number[24];

	if (digits == 0 || digits >= sizeof(number))
		return false;
	memcpy(number, text, digits);
	number[digits] = '\0';
	if (!vbd_parse_uint(number, &value))
		return false;
	if (*unit) {
		const char *letter = strchr(letters, toupper((unsigned char)*unit));

		if (!letter)
			return false;
		shift = 10 * (unsigned int)(letter - letters + 1);
		unit++;
		if (*unit && strcasecmp(unit, "iB") != 0 && strcasecmp(unit, "B") != 0)
			return false;
	}
	if (value > (uint64_t)INT64_MAX >> shift)
		return false;
	*ret_bytes = value << shift;
	return true;
}

bool vbd_parse_duration(const char *text, const char *unit, uint64_t *ret_ms)
{
	static const struct {
		const char *unit;
		double ms;
	} units[] = {{"s", 1e3}, {"ms", 1}, {"m", 6e4}, {"h", 3.6e6}};
	const char *rest = text + strspn(text, "0123456789.");
	char *end;
	double value;

	if (rest == text)
		return false;
	value = strtod(text, &end);
	if (end != rest)
		return false;
	if (!*rest)
		rest = unit;
	for (size_t i = 0; i < VBD_ARRAY_LEN(units); i++) {
		if (strcmp(rest, units[i].unit) != 0)
			continue;
		value *= units[i].ms;
		if (value > 1e12) /* 30 years; the product fits into 64 bits of nanoseconds */
			return false;
		*ret_ms = (uint64_t)(value + 0.5);
		return true;
	}
	return false;
}
