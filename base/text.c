/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "base/attr.h"

#include <ctype.h>
#include <strings.h>

/* Length of the UTF-8 character at @bytes, 1 to 4 bytes; 0 if the bytes are not a character. Reads
 * nothing behind a NUL. */
static size_t utf8_char_bytes(const uint8_t *bytes, size_t len_bytes)
{
	static const struct {
		uint8_t mask, lead, second_min, second_max;
	} forms[] = {
		/* From the table of RFC 3629, section 4: the second byte's range excludes overlong
		 * forms, surrogates and code points above U+10FFFF. */
		{0xff, 0xe0, 0xa0, 0xbf},
		{0xff, 0xed, 0x80, 0x9f},
		{0xf0, 0xe0, 0x80, 0xbf},
		{0xff, 0xf0, 0x90, 0xbf},
		{0xff, 0xf4, 0x80, 0x8f},
		{0xfc, 0xf0, 0x80, 0xbf},
	};
	size_t want;

	if (bytes[0] < 0x80)
		return 1;
	if (bytes[0] >= 0xc2 && bytes[0] <= 0xdf)
		return len_bytes >= 2 && (bytes[1] & 0xc0) == 0x80 ? 2 : 0;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if ((bytes[0] & forms[i].mask) != forms[i].lead)
			continue;
		want = bytes[0] >= 0xf0 ? 4 : 3;
		if (len_bytes < want || bytes[1] < forms[i].second_min ||
			bytes[1] > forms[i].second_max || (bytes[2] & 0xc0) != 0x80)
			return 0;
		return want == 3 || (bytes[3] & 0xc0) == 0x80 ? want : 0;
	}
	return 0;
}

void vbd_text_clean(char *text)
{
	uint8_t *at = (uint8_t *)text;

	while (*at) {
		size_t len = utf8_char_bytes(at, 4);
		bool is_control = *at < ' ' || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0);

		if (!len || is_control)
			memset(at, '?', len ? len : 1);
		at += len ? len : 1;
	}
}

size_t vbd_text_copy(char *to, size_t to_bytes, const char *text)
{
	size_t length = strnlen(text, to_bytes - 1);

	memcpy(to, text, length);
	to[length] = '\0';
	return length;
}

#define PATH_BEGINNING_BYTES 30
#define PATH_END_BYTES	     67

struct vbd_text_path vbd_text_path(const char *path)
{
	struct vbd_text_path shown;
	size_t length = strlen(path);

	if (length < sizeof(shown.text))
		(void)vbd_text_copy(shown.text, sizeof(shown.text), path);
	else
		(void)snprintf(shown.text, sizeof(shown.text), "%.*s...%s", PATH_BEGINNING_BYTES,
			path, path + length - PATH_END_BYTES);
	return shown;
}

#define EDITS_MAX 2

/* The edit distance of Levenshtein, with one row of the matrix in memory. */
static size_t edit_distance(const char *a, const char *b, size_t b_len, size_t *row)
{
	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[b_len];
}

/* SIZE_MAX: not alike. */
static size_t edits_between(const char *word, const char *name)
{
	size_t row[64];
	size_t word_len = strlen(word);
	size_t name_len = strlen(name);
	size_t edits;

	if (word_len >= VBD_ARRAY_LEN(row) || name_len >= VBD_ARRAY_LEN(row))
		return SIZE_MAX;
	edits = edit_distance(word, name, name_len, row);
	if (edits > 1 && strncmp(name, word, word_len) == 0)
		edits = 1;
	return edits > EDITS_MAX || edits >= name_len ? SIZE_MAX : edits;
}

void vbd_similar_try(struct vbd_similar *similar, const char *name)
{
	size_t edits = name ? edits_between(similar->word, name) : SIZE_MAX;

	if (edits == SIZE_MAX || (similar->like && edits >= similar->edits))
		return;
	similar->like = name;
	similar->edits = edits;
}

static bool parse_digits(const char *digits, int base, uint64_t *ret_value)
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
	return isdigit((unsigned char)text[0]) && parse_digits(text, 10, ret_value);
}

bool vbd_parse_number(const char *text, uint64_t *ret_value)
{
	if (text[0] != '0' || (text[1] != 'x' && text[1] != 'X'))
		return vbd_parse_uint(text, ret_value);
	/* strtoull(3) would take a sign, spaces and a second "0x" as well. */
	return isxdigit((unsigned char)text[2]) && text[3] != 'x' && text[3] != 'X' &&
	       parse_digits(text + 2, 16, ret_value);
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

size_t vbd_utf8_char(const void *bytes, size_t len_bytes, uint32_t *ret_code)
{
	const uint8_t *at = bytes;
	size_t used = utf8_char_bytes(at, len_bytes);

	*ret_code = used > 1 ? at[0] & 0xffU >> (used + 1) : at[0];
	for (size_t i = 1; i < used; i++)
		*ret_code = *ret_code << 6 | (at[i] & 0x3fU);
	return used;
}

bool vbd_utf8_valid(const void *bytes, size_t len_bytes)
{
	const uint8_t *at = bytes;

	while (len_bytes) {
		size_t used = utf8_char_bytes(at, len_bytes);

		if (!used)
			return false;
		at += used;
		len_bytes -= used;
	}
	return true;
}

/* Characters that show nothing, and let a text look like another one: controls, ends of a line, the
 * general category Cf but for signs that are seen, and Default_Ignorable_Code_Point (Unicode 15,
 * DerivedCoreProperties.txt). */
static const struct hidden {
	uint32_t first, last;
	bool in_texts; /* refused in longer texts as well: it turns them around, or cuts them */
} hidden[] = {
	{0x80, 0x9f, true},
	{0xad, 0xad, false},
	{0x34f, 0x34f, false},
	{0x61c, 0x61c, true},
	{0x115f, 0x1160, false},
	{0x17b4, 0x17b5, false},
	{0x180b, 0x180f, false},
	{0x200b, 0x200d, false},
	{0x200e, 0x200f, true},
	{0x2028, 0x202e, true},
	{0x2060, 0x2065, false},
	{0x2066, 0x2069, true},
	{0x206a, 0x206f, false},
	{0x2800, 0x2800, false}, /* a Braille pattern without dots */
	{0x3164, 0x3164, false},
	{0xfe00, 0xfe0f, false},
	{0xfeff, 0xfeff, false},
	{0xffa0, 0xffa0, false},
	{0xfff0, 0xfffb, false},
	{0x1bca0, 0x1bca3, false},
	{0x1d173, 0x1d17a, false},
	{0xe0000, 0xe0fff, false},
};

static const struct hidden *find_hidden_range(uint32_t code)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		if (code >= hidden[i].first && code <= hidden[i].last)
			return &hidden[i];
	}
	return NULL;
}

static bool has_only_shown(const void *bytes, size_t len_bytes, const char *spaces)
{
	const uint8_t *at = bytes;
	uint32_t code;

	while (len_bytes) {
		size_t used = vbd_utf8_char(at, len_bytes, &code);
		const struct hidden *found = used > 1 ? find_hidden_range(code) : NULL;

		if (!used || (found && (found->in_texts || !*spaces)) || code == 0x7f ||
			(code < 0x20 && (!code || !strchr(spaces, (int)code))))
			return false;
		at += used;
		len_bytes -= used;
	}
	return true;
}

bool vbd_utf8_printable(const void *bytes, size_t len_bytes)
{
	return has_only_shown(bytes, len_bytes, "\t\n\r");
}

bool vbd_utf8_line(const void *bytes, size_t len_bytes)
{
	return has_only_shown(bytes, len_bytes, "");
}

size_t vbd_utf8_length(const char *text)
{
	size_t length = 0;

	for (; *text; text++)
		length += ((uint8_t)*text & 0xc0) != 0x80;
	return length;
}

/* strspn(3) makes a table of the characters at each call. */
bool vbd_text_has_only(const char *text, size_t len_bytes, const char *marks)
{
	size_t i = 0;

	while (i < len_bytes && text[i] &&
		(isalnum((unsigned char)text[i]) || strchr(marks, text[i])))
		i++;
	return i == len_bytes;
}
