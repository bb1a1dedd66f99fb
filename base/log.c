/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/clock.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Longest text of a line in bytes; the rest is cut off. */
#define TEXT_BYTES 600

static struct {
	enum vbd_log_level level;
	enum vbd_log_format format;
	vbd_log_line_cb observer;
	void *observer_arg;
} g_log = {.level = VBD_LOG_INFO};

static const struct {
	const char *name;
	int priority;
} levels[VBD_LOG_LEVEL_COUNT] = {
#define VBD_LOG_LEVEL_ROW(sym, name, prio) [sym] = {name, prio},
	VBD_LOG_LEVEL_MAP(VBD_LOG_LEVEL_ROW)
#undef VBD_LOG_LEVEL_ROW
};

void vbd_log_setup(enum vbd_log_level level, enum vbd_log_format format)
{
	g_log.level = level;
	g_log.format = format;
}

bool vbd_log_enabled(enum vbd_log_level level)
{
	return level <= g_log.level;
}

const char *vbd_log_level_name(enum vbd_log_level level)
{
	return levels[level].name;
}

bool vbd_log_level_parse(const char *name, enum vbd_log_level *ret_level)
{
	for (unsigned int i = 0; i < VBD_LOG_LEVEL_COUNT; i++) {
		if (strcmp(levels[i].name, name) == 0) {
			*ret_level = (enum vbd_log_level)i;
			return true;
		}
	}
	return false;
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

static int format_line(char *line, size_t line_bytes, enum vbd_log_level level, const char *object,
	const char *text)
{
	char when[VBD_TIME_TEXT_BYTES];
	char escaped[2 * TEXT_BYTES];

	if (!object)
		object = "verbsd";
	switch (g_log.format) {
	case VBD_LOG_JSON:
		escape_json(text, escaped);
		return snprintf(line, line_bytes,
			"{\"at\":\"%s\",\"level\":\"%s\",\"object\":\"%s\",\"text\":\"%s\"}\n",
			vbd_clock_format(vbd_clock_mono_ns(), when), levels[level].name, object,
			escaped);
	case VBD_LOG_JOURNAL:
		return snprintf(
			line, line_bytes, "<%d>%s: %s\n", levels[level].priority, object, text);
	case VBD_LOG_TEXT:
		break;
	}
	return snprintf(line, line_bytes, "%s %-7s %s: %s\n",
		vbd_clock_format(vbd_clock_mono_ns(), when), levels[level].name, object, text);
}

void vbd_log(enum vbd_log_level level, const char *object, const char *fmt, ...)
{
	char text[TEXT_BYTES];
	char line[2 * TEXT_BYTES + 200]; /* with JSON escapes */
	va_list ap;
	int len;

	if (!vbd_log_enabled(level))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	vbd_text_clean(text); /* no byte may end the line or control a terminal */
	len = format_line(line, sizeof(line), level, object, text);
	if (len >= (int)sizeof(line))
		len = (int)sizeof(line) - 1;
	(void)!write(STDERR_FILENO, line,
		(size_t)len); /* the daemon goes on when the log can't be written */
	if (g_log.observer)
		g_log.observer(level, object, text, g_log.observer_arg);
}
