/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json/writer.h"

#include "base/clock.h"
#include "base/text.h"

#include <limits.h>

/* --- the sieve ------------------------------------------------------------------------------- */

void vbd_sieve_begin(struct vbd_sieve *ret_sieve)
{
	ret_sieve->n_keep = 0;
	ret_sieve->n_hide = 0;
	ret_sieve->at = 0;
	ret_sieve->levels[0] = (struct vbd_sieve_level){0};
}

void vbd_sieve_keep(struct vbd_sieve *sieve, const char *name)
{
	sieve->keep[sieve->n_keep++] = name;
}

void vbd_sieve_hide(struct vbd_sieve *sieve, const char *path)
{
	sieve->levels[0].hide |= UINT64_C(1) << sieve->n_hide;
	sieve->hide[sieve->n_hide++] = path;
}

/* The path from its part with number @level on. */
static const char *path_from_level(const char *path, unsigned int level)
{
	for (; level; level--) {
		path += strcspn(path, ".");
		path += *path == '.';
	}
	return path;
}

/* Is @name the first part of the path? */
static bool begins_with(const char *path, const char *name)
{
	size_t len = strlen(name);

	return strncmp(path, name, len) == 0 && (!path[len] || path[len] == '.');
}

/* The hidden paths that a member of the innermost object is part of. @ret_ends: one of them ends at
 * the member. */
static uint64_t find_hidden_paths(const struct vbd_sieve *sieve, const char *name, bool *ret_ends)
{
	uint64_t more = 0;

	*ret_ends = false;
	for (uint64_t mask = sieve->levels[sieve->at].hide; mask; mask &= mask - 1) {
		unsigned int i = (unsigned int)__builtin_ctzll(mask);
		const char *path = path_from_level(sieve->hide[i], sieve->at);

		if (!begins_with(path, name) && !begins_with(path, "*"))
			continue;
		if (strchr(path, '.'))
			more |= UINT64_C(1) << i;
		else
			*ret_ends = true;
	}
	return more;
}

static bool is_kept_member(const struct vbd_sieve *sieve, const char *name)
{
	for (unsigned int i = 0; i < sieve->n_keep; i++) {
		if (strcmp(sieve->keep[i], name) == 0)
			return true;
	}
	return !sieve->n_keep;
}

/* Does a member of the innermost object pass, wholly or in part? */
static bool sieve_passes(const struct vbd_sieve *sieve, const char *name)
{
	bool hidden;

	(void)find_hidden_paths(sieve, name, &hidden);
	return !hidden && (sieve->at > 0 || is_kept_member(sieve, name));
}

/* A member that passes, or with NULL an element of an array, is an object or an
 * array, and its members are next. */
static void enter_sieve(struct vbd_sieve *sieve, const char *name)
{
	struct vbd_sieve_level *level = &sieve->levels[sieve->at];
	bool hidden;

	if (!name || (sieve->at > 0 && !level->hide) || sieve->at + 1 == VBD_SIEVE_DEPTH_MAX) {
		level->plain++;
		return;
	}
	sieve->levels[sieve->at + 1] =
		(struct vbd_sieve_level){.hide = find_hidden_paths(sieve, name, &hidden)};
	sieve->at++;
}

/* The innermost object or array has ended. */
static void leave_sieve(struct vbd_sieve *sieve)
{
	struct vbd_sieve_level *level = &sieve->levels[sieve->at];

	if (level->plain)
		level->plain--;
	else
		sieve->at--;
}

/* Most answers fit, and so need one allocation. */
#define FIRST_ROOM_BYTES 4096

/* --- bytes ----------------------------------------------------------------------------------- */

/* Returns room for @len more bytes; NULL without memory. */
static char *make_room(struct vbd_encoder *out, size_t len)
{
	size_t room = out->room ? out->room : FIRST_ROOM_BYTES;
	char *grown;

	if (out->failed)
		return NULL;
	if (out->room - out->len >= len)
		return out->bytes + out->len;
	while (room - out->len < len)
		room *= 2;
	grown = realloc(out->bytes, room);
	if (!grown) {
		out->failed = true;
		return NULL;
	}
	out->bytes = grown;
	out->room = room;
	return out->bytes + out->len;
}

static void append(struct vbd_encoder *out, const char *bytes, size_t len)
{
	char *at = make_room(out, len);

	if (at) {
		memcpy(at, bytes, len);
		out->len += len;
	}
}

/* --- strings --------------------------------------------------------------------------------- */

#define WORD_BYTES	 sizeof(uint64_t)
#define EACH_BYTE(byte_) (UINT64_C(0x0101010101010101) * (byte_))

/*
 * Returns whether one of eight bytes needs an escape or is not ASCII: whether a subtraction leaves
 * the highest bit of a byte set. One that borrows from the next byte has found something itself.
 */
static bool has_special(uint64_t word)
{
	uint64_t control = word - EACH_BYTE((unsigned int)' ');
	uint64_t quote = (word ^ EACH_BYTE((unsigned int)'"')) - EACH_BYTE(1u);
	uint64_t backslash = (word ^ EACH_BYTE((unsigned int)'\\')) - EACH_BYTE(1u);

	return (control | quote | backslash | word) & EACH_BYTE(0x80u);
}

static uint64_t load_word(const unsigned char *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* All of 4 to 7 bytes; those in the middle come twice. */
static uint64_t load_short_word(const unsigned char *bytes, size_t len)
{
	uint32_t first, last;

	memcpy(&first, bytes, sizeof(first));
	memcpy(&last, bytes + len - sizeof(last), sizeof(last));
	return (uint64_t)first << 32 | last;
}

/* The number of bytes before the first one that needs an escape or is above @max. */
static size_t plain_bytes(const char *text, size_t len, unsigned char max)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t i = 0;

	while (i + WORD_BYTES < len && !has_special(load_word(bytes + i)))
		i += WORD_BYTES;
	/* The last word overlaps the one before. Most texts are names of members, and end here. */
	if (len >= WORD_BYTES && i + WORD_BYTES >= len &&
		!has_special(load_word(bytes + len - WORD_BYTES)))
		return len;
	if (len >= WORD_BYTES / 2 && len < WORD_BYTES && !has_special(load_short_word(bytes, len)))
		return len;
	while (i < len && bytes[i] >= ' ' && bytes[i] <= max && bytes[i] != '"' && bytes[i] != '\\')
		i++;
	return i;
}

static void append_escape(struct vbd_encoder *out, unsigned char c)
{
	static const char letters[] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
	static const char digits[] = "0123456789ABCDEF";
	const char code[] = {'\\', 'u', '0', '0', digits[c >> 4 & 15], digits[c & 15]};
	const char letter = c == '"' || c == '\\' ? (char)c : '\0';

	if (letter)
		append(out, (const char[]){'\\', letter}, 2);
	else if (c < sizeof(letters) && letters[c])
		append(out, (const char[]){'\\', letters[c]}, 2);
	else
		append(out, code, sizeof(code));
}

/* Append UTF-8 between quotes. */
static void append_utf8(struct vbd_encoder *out, const char *bytes, size_t len)
{
	append(out, "\"", 1);
	while (len) {
		size_t run = plain_bytes(bytes, len, UCHAR_MAX);

		append(out, bytes, run);
		if (run < len)
			append_escape(out, (unsigned char)bytes[run++]);
		bytes += run;
		len -= run;
	}
	append(out, "\"", 1);
}

/* A message that was cut in the middle of a character, or is of a peer. */
static void append_cleaned(struct vbd_encoder *out, const char *text)
{
	size_t len = strlen(text);
	char *clean = malloc(len + 1);

	if (!clean) {
		out->failed = true;
		return;
	}
	memcpy(clean, text, len + 1);
	vbd_text_clean(clean);
	append_utf8(out, clean, len);
	free(clean);
}

/* Append text between quotes, and one byte or none before it and behind it. */
static void append_text(
	struct vbd_encoder *out, const char *before, const char *text, const char *behind)
{
	size_t len = strlen(text);
	char *at;

	if (plain_bytes(text, len, 0x7f) < len) {
		append(out, before, strlen(before));
		if (vbd_utf8_valid(text, len))
			append_utf8(out, text, len);
		else
			append_cleaned(out, text);
		append(out, behind, strlen(behind));
		return;
	}
	at = make_room(out, len + 4);
	if (!at)
		return;
	*at = *before;
	at += *before != '\0';
	*at++ = '"';
	memcpy(at, text, len);
	at += len;
	*at++ = '"';
	*at = *behind;
	at += *behind != '\0';
	out->len = (size_t)(at - out->bytes);
}

/* --- members and elements -------------------------------------------------------------------- */

bool vbd_encode_wants(struct vbd_encoder *out, const char *name)
{
	if (out->failed || out->hidden)
		return false;
	return !out->sieve || !name || sieve_passes(out->sieve, name);
}

/* Begin a value. Returns whether it is to be written. */
static bool begin_value(struct vbd_encoder *out, const char *name)
{
	if (!vbd_encode_wants(out, name))
		return false;
	if (name)
		append_text(out, out->comma ? "," : "", name, ":");
	else if (out->comma)
		append(out, ",", 1);
	out->comma = true;
	return true;
}

static void open_container(struct vbd_encoder *out, const char *name, bool is_array)
{
	out->failed |= out->depth == VBD_ENCODE_DEPTH_MAX;
	if (!begin_value(out, name)) {
		out->hidden++;
		return;
	}
	append(out, is_array ? "[" : "{", 1);
	out->arrays = out->arrays << 1 | is_array;
	out->depth++;
	out->comma = false;
	if (out->sieve)
		enter_sieve(out->sieve, name);
}

void vbd_begin_object(struct vbd_encoder *out, const char *name)
{
	open_container(out, name, false);
}

void vbd_begin_array(struct vbd_encoder *out, const char *name)
{
	open_container(out, name, true);
}

void vbd_end(struct vbd_encoder *out)
{
	if (out->hidden) {
		out->hidden--;
		return;
	}
	append(out, out->arrays & 1 ? "]" : "}", 1);
	out->arrays >>= 1;
	out->depth--;
	out->comma = true;
	if (out->sieve)
		leave_sieve(out->sieve);
}

/* --- documents ------------------------------------------------------------------------------- */

struct vbd_encoder vbd_encode_begin(void)
{
	return vbd_encode_begin_in(NULL, 0);
}

struct vbd_encoder vbd_encode_begin_in(char *room, size_t room_bytes)
{
	struct vbd_encoder out = {.bytes = room, .room = room ? room_bytes : 0};

	vbd_begin_object(&out, NULL);
	return out;
}

void vbd_encode_drop(struct vbd_encoder *out)
{
	free(out->bytes);
	*out = (struct vbd_encoder){0};
}

void vbd_encode_join(struct vbd_encoder *out, struct vbd_encoder *more)
{
	out->failed |= more->failed;
	if (more->comma) {
		append(out, ",", out->comma);
		append(out, more->bytes + 1, more->len - 1);
		out->comma = true;
	}
	vbd_encode_drop(more);
}

void vbd_encode_raw(struct vbd_encoder *out, const char *bytes, size_t len)
{
	append(out, bytes, len);
}

char *vbd_encode_take(struct vbd_encoder *out, size_t *ret_len)
{
	char *text = out->failed ? NULL : out->bytes;

	*ret_len = out->len;
	if (text)
		out->bytes = NULL;
	vbd_encode_drop(out);
	return text;
}

static char *end_document(struct vbd_encoder *out, char last, size_t *ret_len)
{
	vbd_encode_through(out, NULL);
	vbd_end(out);
	append(out, &last, 1);
	return vbd_encode_take(out, ret_len);
}

char *vbd_encode_end(struct vbd_encoder *out, size_t *ret_len)
{
	char *text = end_document(out, '\0', ret_len);

	*ret_len -= text != NULL;
	return text;
}

char *vbd_encode_end_line(struct vbd_encoder *out, size_t *ret_len)
{
	return end_document(out, '\n', ret_len);
}

void vbd_encode_through(struct vbd_encoder *out, struct vbd_sieve *sieve)
{
	out->sieve = sieve;
}

/* --- values ---------------------------------------------------------------------------------- */

void vbd_put_null(struct vbd_encoder *out, const char *name)
{
	if (begin_value(out, name))
		append(out, "null", 4);
}

void vbd_put_bool(struct vbd_encoder *out, const char *name, bool value)
{
	if (begin_value(out, name))
		append(out, value ? "true" : "false", value ? 4 : 5);
}

void vbd_put_text(struct vbd_encoder *out, const char *name, const char *text)
{
	if (!text)
		vbd_put_null(out, name);
	else if (begin_value(out, name))
		append_text(out, "", text, "");
}

void vbd_put_text_or_null(struct vbd_encoder *out, const char *name, const char *text)
{
	vbd_put_text(out, name, *text ? text : NULL);
}

void vbd_put_utf8(struct vbd_encoder *out, const char *name, const char *bytes, size_t len)
{
	if (begin_value(out, name))
		append_utf8(out, bytes, len);
}

static void append_decimal(struct vbd_encoder *out, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	append(out, digits + at, sizeof(digits) - at);
}

void vbd_put_i64(struct vbd_encoder *out, const char *name, int64_t value)
{
	if (!begin_value(out, name))
		return;
	if (value < 0)
		append(out, "-", 1);
	append_decimal(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void vbd_put_u64(struct vbd_encoder *out, const char *name, uint64_t value)
{
	vbd_put_i64(out, name, (int64_t)value);
}

void vbd_put_u64_or_null(struct vbd_encoder *out, const char *name, bool known, uint64_t value)
{
	if (known)
		vbd_put_u64(out, name, value);
	else
		vbd_put_null(out, name);
}

void vbd_put_hex_or_null(
	struct vbd_encoder *out, const char *name, bool there, uint64_t value, unsigned int digits)
{
	if (there)
		vbd_put_hex(out, name, value, digits);
	else
		vbd_put_null(out, name);
}

void vbd_put_hex(struct vbd_encoder *out, const char *name, uint64_t value, unsigned int digits)
{
	char text[sizeof("0x") + 16];
	size_t at = sizeof(text);

	text[--at] = '\0';
	do {
		text[--at] = "0123456789abcdef"[value & 15];
		value >>= 4;
	} while ((value || sizeof(text) - 1 - at < digits) && at > 2);
	text[--at] = 'x';
	text[--at] = '0';
	vbd_put_text(out, name, text + at);
}

void vbd_put_time(struct vbd_encoder *out, const char *name, uint64_t mono_ns)
{
	char text[VBD_TIME_TEXT_BYTES];

	vbd_put_text(out, name, mono_ns ? vbd_clock_format(mono_ns, text) : NULL);
}
