/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/clock.h"
#include "base/text.h"

#include <assert.h>
#include <stdatomic.h>
#include <unistd.h>

/* Longest text and longest name of an object in bytes; the rest is cut off. */
#define TEXT_BYTES   600
#define OBJECT_BYTES 256

static_assert(2 * TEXT_BYTES + OBJECT_BYTES + 100 <= VBD_LOG_LINE_BYTES, "every line has room");

static struct {
	_Atomic(enum vbd_log_level) level;
	enum vbd_log_format format;
	vbd_log_line_cb observer;
	void *observer_arg;
} g_log = {.level = VBD_LOG_INFO};

static VBD_ENUM_NAMES(level_name, enum vbd_log_level, VBD_LOG_LEVEL_MAP) static VBD_ENUM_COLUMN(
	int, priority_of, enum vbd_log_level, VBD_LOG_LEVEL_MAP, 3)

	void vbd_log_setup(enum vbd_log_level level, enum vbd_log_format format)
{
	atomic_store_explicit(&g_log.level, level, memory_order_relaxed);
	g_log.format = format;
}

void vbd_log_set_level(enum vbd_log_level level)
{
	atomic_store_explicit(&g_log.level, level, memory_order_relaxed);
}

bool vbd_log_enabled(enum vbd_log_level level)
{
	return level <= atomic_load_explicit(&g_log.level, memory_order_relaxed);
}

void vbd_log_set_observer(vbd_log_line_cb cb, void *arg)
{
	g_log.observer = cb;
	g_log.observer_arg = arg;
}

/* Escapes a clean text for a JSON string; @out has room for twice the text. */
static void escape_json(const char *text, char *out)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			*out++ = '\\';
		*out++ = *text;
	}
	*out = '\0';
}

static size_t format_line(char line[VBD_LOG_LINE_BYTES], enum vbd_log_level level,
	const char *object, const char *text)
{
	char when[VBD_TIME_TEXT_BYTES];
	char escaped[2 * TEXT_BYTES];
	const char *name = level_name(level);
	const int most = OBJECT_BYTES;
	int len = 0;

	if (!object)
		object = "verbsd";
	(void)vbd_clock_format(vbd_clock_mono_ns(), when);
	switch (g_log.format) {
	case VBD_LOG_JSON:
		escape_json(text, escaped);
		len = snprintf(line, VBD_LOG_LINE_BYTES,
			"{\"at\":\"%s\",\"level\":\"%s\",\"object\":\"%.*s\",\"text\":\"%s\"}\n",
			when, name, most, object, escaped);
		break;
	case VBD_LOG_JOURNAL:
		len = snprintf(line, VBD_LOG_LINE_BYTES, "<%d>%.*s: %s\n", priority_of(level), most,
			object, text);
		break;
	case VBD_LOG_TEXT:
		len = snprintf(line, VBD_LOG_LINE_BYTES, "%s %-7s %.*s: %s\n", when, name, most,
			object, text);
		break;
	}
	return len > 0 ? (size_t)len : 0;
}

static size_t format_drop_notice(char line[VBD_LOG_LINE_BYTES], uint64_t lines)
{
	char text[TEXT_BYTES];

	(void)snprintf(text, sizeof(text),
		"%llu line%s dropped here: the reader of the log stood still, or a write failed",
		(unsigned long long)lines, lines == 1 ? " was" : "s were");
	return format_line(line, VBD_LOG_WARNING, NULL, text);
}

static struct vbd_log_queue g_queue = VBD_LOG_QUEUE_INIT(STDERR_FILENO, format_drop_notice);

enum vbd_status vbd_log_start(struct vbd_error *err)
{
	return vbd_log_queue_start(&g_queue, err);
}

void vbd_log_stop(unsigned int timeout_ms)
{
	vbd_log_queue_stop(&g_queue, timeout_ms);
}

struct vbd_log_state vbd_log_state(void)
{
	return vbd_log_queue_state(&g_queue);
}

void vbd_log(enum vbd_log_level level, const char *object, const char *fmt, ...)
{
	char text[TEXT_BYTES];
	char line[VBD_LOG_LINE_BYTES];
	va_list ap;

	if (!vbd_log_enabled(level))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	vbd_text_clean(text); /* no byte may end the line or control a terminal */
	vbd_log_queue_put(&g_queue, line, format_line(line, level, object, text));
	if (g_log.observer)
		g_log.observer(level, object, text, g_log.observer_arg);
}
