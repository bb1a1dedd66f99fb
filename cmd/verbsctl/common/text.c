/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/text.h"

#include "base/clock.h"
#include "base/text.h"

#include <ctype.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

void *vbd_ctl_must(void *ptr)
{
	if (ptr)
		return ptr;
	fputs("verbsctl: out of memory\n", stderr);
	exit(VBD_CTL_FAILED);
}

/* The innermost vbd_ctl_try() that runs; NULL for none. */
static struct attempt {
	jmp_buf start;
	volatile enum vbd_ctl_exit exit_status;
} * innermost;

enum vbd_ctl_exit vbd_ctl_try(void (*part)(void *arg), void *arg)
{
	struct attempt attempt = {.exit_status = VBD_CTL_OK};
	struct attempt *const outer = innermost;

	innermost = &attempt;
	if (setjmp(attempt.start) == 0)
		part(arg);
	innermost = outer;
	return attempt.exit_status;
}

void vbd_ctl_end(enum vbd_ctl_exit exit_status)
{
	if (!innermost)
		exit((int)exit_status);
	innermost->exit_status = exit_status;
	longjmp(innermost->start, 1);
}

/* The arguments of vbd_ctl_keep(), in their order. */
static struct kept {
	void *ptr;
	void (*release)(void *ptr);
} * kept;
static size_t kept_count, kept_room;

void *vbd_ctl_keep(void *ptr, void (*release)(void *ptr))
{
	vbd_ctl_must(ptr);
	if (kept_count == kept_room) {
		kept_room = 2 * kept_room + 64;
		kept = vbd_ctl_must(reallocarray(kept, kept_room, sizeof(*kept)));
	}
	kept[kept_count++] = (struct kept){ptr, release};
	return ptr;
}

size_t vbd_ctl_kept(void)
{
	return kept_count;
}

void vbd_ctl_release(size_t from)
{
	while (kept_count > from) {
		const struct kept *last = &kept[--kept_count];

		last->release(last->ptr);
	}
}

char *vbd_ctl_format_va(const char *fmt, va_list ap)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	return vbd_ctl_keep(text, free);
}

char *vbd_ctl_format(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = vbd_ctl_format_va(fmt, ap);
	va_end(ap);
	return text;
}

void vbd_ctl_note(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = vbd_ctl_format_va(fmt, ap);
	va_end(ap);
	/* Keeps the order of the two streams if both go to the same file. */
	(void)fflush(stdout);
	fprintf(stderr, "verbsctl: %s\n", vbd_ctl_text_safe(text));
}

void vbd_ctl_end_if_unread(void)
{
	struct pollfd output = {.fd = STDOUT_FILENO};

	if (poll(&output, 1, 0) <= 0 || !(output.revents & (POLLERR | POLLHUP)))
		return;
	/* libcurl ignores the signal during a request. */
	(void)signal(SIGPIPE, SIG_DFL);
	(void)raise(SIGPIPE);
	exit(VBD_CTL_FAILED);
}

void vbd_ctl_flush(void)
{
	int error;

	if (fflush(stdout) == 0 && !ferror(stdout))
		return;
	error = errno;
	vbd_ctl_end_if_unread();
	vbd_ctl_fail("standard output: %s", strerror(error));
}

static bool is_unsafe(uint32_t c)
{
	if (c < 0x20 || (c >= 0x7f && c <= 0x9f))
		return true;
	/* Direction marks, overrides, isolates and the two separators make a line look like another
	 * one. */
	return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/* The text with what is unsafe escaped. In JSON, only \u is an escape, and what stands between
 * strings stays. */
static char *escape_text(const char *text, size_t len_bytes, bool json)
{
	const unsigned char *s = (const unsigned char *)text;
	char *safe = NULL;
	size_t safe_len = 0;
	FILE *out = vbd_ctl_must(open_memstream(&safe, &safe_len));

	for (size_t i = 0; i < len_bytes;) {
		uint32_t c = s[i];
		size_t n = vbd_utf8_char(s + i, len_bytes - i, &c);

		if (json ? c < 0x20 || !is_unsafe(c) : n && !is_unsafe(c))
			fwrite(s + i, 1, n ? n : 1, out);
		else if (n == 0 && !json)
			fprintf(out, "\\x%02x", s[i]);
		else if (c == '\n')
			fputs("\\n", out);
		else if (c == '\t')
			fputs("\\t", out);
		else
			fprintf(out, c < 0x80 && !json ? "\\x%02x" : "\\u%04x", c);
		i += n ? n : 1;
	}
	(void)fclose(out);
	return vbd_ctl_keep(safe, free);
}

char *vbd_ctl_text_safe(const char *text)
{
	return escape_text(text, strlen(text), false);
}

char *vbd_ctl_text_safe_bytes(const char *text, size_t len_bytes)
{
	return escape_text(text, len_bytes, false);
}

char *vbd_ctl_text_safe_json(const char *json)
{
	return escape_text(json, strlen(json), true);
}

char *vbd_ctl_text_percent(const char *text)
{
	char *escaped_text = vbd_ctl_keep(malloc(3 * strlen(text) + 1), free);
	char *to = escaped_text;

	for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
		if ((*s < 0x80 && isalnum(*s)) || strchr("-._~", *s))
			*to++ = (char)*s;
		else
			to += sprintf(to, "%%%02X", *s);
	}
	*to = '\0';
	return escaped_text;
}

/* The length in bytes of the character at @text, and its width in columns. */
static size_t measure_char(const char *text, mbstate_t *state, size_t *ret_columns)
{
	wchar_t wide;
	size_t n = mbrtowc(&wide, text, strlen(text), state);
	int columns;

	*ret_columns = 1;
	if (n == 0 || n > strlen(text)) {
		*state = (mbstate_t){0};
		return 1;
	}
	columns = wcwidth(wide);
	if (columns >= 0)
		*ret_columns = (size_t)columns;
	return n;
}

size_t vbd_ctl_text_columns(const char *text)
{
	mbstate_t state = {0};
	size_t total = 0;
	size_t columns;

	while (*text) {
		text += measure_char(text, &state, &columns);
		total += columns;
	}
	return total;
}

/* Number of bytes of @text that fit into @columns, and their width in columns. */
static size_t fitting_length(const char *text, size_t columns, size_t *ret_taken)
{
	mbstate_t state = {0};
	size_t len = 0;
	size_t taken;

	*ret_taken = 0;
	while (text[len]) {
		size_t n = measure_char(text + len, &state, &taken);

		if (*ret_taken + taken > columns)
			break;
		len += n;
		*ret_taken += taken;
	}
	return len;
}

char *vbd_ctl_text_fit(const char *text, size_t columns)
{
	bool cut = vbd_ctl_text_columns(text) > columns;
	size_t taken;
	size_t len = fitting_length(text, columns - (cut && columns), &taken);

	taken += cut && columns;
	return vbd_ctl_format(
		"%.*s%s%*s", (int)len, text, cut && columns ? "~" : "", (int)(columns - taken), "");
}

/* Writes one line of @len bytes as lines of at most @columns; a longer word stays whole. */
static void wrap_line(FILE *out, const char *line, size_t len, size_t columns, size_t indent)
{
	const char *at = vbd_ctl_format("%.*s", (int)len, line);
	size_t room = columns;
	size_t taken;

	while (vbd_ctl_text_columns(at) > room) {
		size_t end = fitting_length(at, room, &taken);
		size_t word = end;

		while (word && at[word] != ' ')
			word--;
		/* Do not break within the indentation of a line. */
		if (word > strspn(at, " "))
			end = word;
		if (end == 0)
			break;
		fprintf(out, "%.*s\n%*s", (int)end, at, (int)indent, "");
		at += end;
		at += strspn(at, " ");
		room = columns - indent;
	}
	fprintf(out, "%s\n", at);
}

char *vbd_ctl_text_wrap(const char *text, size_t columns, size_t indent)
{
	char *wrapped = NULL;
	size_t wrapped_len = 0;
	FILE *out = vbd_ctl_must(open_memstream(&wrapped, &wrapped_len));

	while (*text) {
		size_t len = strcspn(text, "\n");

		wrap_line(out, text, len, indent < columns ? columns : SIZE_MAX, indent);
		text += len + (text[len] == '\n');
	}
	(void)fclose(out);
	return vbd_ctl_keep(wrapped, free);
}

char *vbd_ctl_text_of_bytes(uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	/* Printed with one digit, 1023.95 would become "1024.0". */
	while (value >= 1023.95 && unit + 1 < VBD_ARRAY_LEN(units)) {
		value /= 1024;
		unit++;
	}
	return vbd_ctl_format("%.*f %s", unit ? 1 : 0, value, units[unit]);
}

char *vbd_ctl_text_of_ns(uint64_t ns)
{
	if (ns < 1000)
		return vbd_ctl_format("%d ns", (int)ns);
	if (ns < 1000000)
		return vbd_ctl_format("%.3f us", (double)ns / 1e3);
	if (ns < 1000000000)
		return vbd_ctl_format("%.3f ms", (double)ns / 1e6);
	return vbd_ctl_format("%.3f s", (double)ns / 1e9);
}

char *vbd_ctl_text_of_span(uint64_t ns)
{
	uint64_t s = ns / VBD_NS_PER_S;

	if (s < 60)
		return vbd_ctl_text_of_ns(ns);
	return vbd_ctl_format("%llu:%02d:%02d", (unsigned long long)(s / 3600), (int)(s / 60 % 60),
		(int)(s % 60));
}

bool vbd_ctl_parse_time(const char *text, uint64_t *ret_ns)
{
	unsigned int ns;
	struct tm tm = {0};
	time_t seconds;
	int used = 0;
	const char *fraction = strptime(text, "%Y-%m-%dT%H:%M:%S.", &tm);

	if (!fraction || sscanf(fraction, "%9uZ%n", &ns, &used) != 1 ||
		used != (int)strlen("000000006Z") || fraction[used])
		return false;
	seconds = timegm(&tm);
	if (seconds < 0)
		return false;
	*ret_ns = (uint64_t)seconds * VBD_NS_PER_S + ns;
	return true;
}

bool vbd_ctl_parse_hex(const char *text, uint64_t *ret_value)
{
	size_t digits;

	if (text[0] != '0' || text[1] != 'x')
		return false;
	digits = strspn(text + 2, "0123456789abcdefABCDEF");
	if (digits == 0 || digits > 16 || text[2 + digits])
		return false;
	*ret_value = strtoull(text, NULL, 16);
	return true;
}

char *vbd_ctl_hex_encode(const void *bytes, size_t len_bytes)
{
	const unsigned char *in = bytes;
	char *text = vbd_ctl_keep(malloc(2 * len_bytes + 1), free);

	for (size_t i = 0; i < len_bytes; i++)
		(void)sprintf(text + 2 * i, "%02x", in[i]);
	text[2 * len_bytes] = '\0';
	return text;
}

bool vbd_ctl_hex_decode(const char *text, char **ret_bytes, size_t *ret_len_bytes)
{
	size_t len = strlen(text);
	char *bytes;

	if (len % 2 || text[strspn(text, "0123456789abcdefABCDEF")])
		return false;
	bytes = vbd_ctl_keep(malloc(len / 2 + 1), free);
	for (size_t i = 0; i < len; i += 2) {
		const char pair[] = {text[i], text[i + 1], '\0'};

		bytes[i / 2] = (char)strtoul(pair, NULL, 16);
	}
	bytes[len / 2] = '\0';
	*ret_bytes = bytes;
	*ret_len_bytes = len / 2;
	return true;
}
