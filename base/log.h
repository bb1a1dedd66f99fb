/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logging: one line per decision, naming its object. base/ and rdma/ log at debug only; daemon/ and
 * api/ log an error once, where it is decided.
 *
 * Any thread. A line is one write(2), so lines of several threads don't mix.
 */
#ifndef VBD_BASE_LOG_H
#define VBD_BASE_LOG_H

#include "base/attr.h"

#include <stdarg.h>
#include <stdbool.h>

/* X(SYMBOL, name, syslog priority) */
#define VBD_LOG_LEVEL_MAP(X)     \
	X(ERROR, "error", 3)     \
	X(WARNING, "warning", 4) \
	X(NOTICE, "notice", 5)   \
	X(INFO, "info", 6)       \
	X(DEBUG, "debug", 7)

enum vbd_log_level {
#define VBD_LOG_LEVEL_ENUM(sym, name, prio) VBD_LOG_##sym,
	VBD_LOG_LEVEL_MAP(VBD_LOG_LEVEL_ENUM)
#undef VBD_LOG_LEVEL_ENUM
		VBD_LOG_LEVEL_COUNT
};

enum vbd_log_format {
	VBD_LOG_TEXT,
	VBD_LOG_JSON,	 /* one JSON object a line */
	VBD_LOG_JOURNAL, /* "<4>text": the priority prefix that journald reads from stderr */
};

/** vbd_log_setup - choose what is written and how; before any thread starts */
void vbd_log_setup(enum vbd_log_level level, enum vbd_log_format format);

/** vbd_log_enabled - would a line of this level be written? */
bool vbd_log_enabled(enum vbd_log_level level);

/** vbd_log_level_name - "warning" */
const char *vbd_log_level_name(enum vbd_log_level level);

/** vbd_log_level_parse - false if @name names no level */
bool vbd_log_level_parse(const char *name, enum vbd_log_level *ret_level);

/**
 * vbd_log - write a line to stderr
 * @object: what it is about ("connection/7"), or NULL for the daemon itself
 */
void vbd_log(enum vbd_log_level level, const char *object, const char *fmt, ...) VBD_PRINTF(3, 4);

/**
 * vbd_log_set_observer - see every line that is written (tests fail on unexpected warnings with it)
 * @cb: NULL for none; called after the line was written, on the thread that wrote it
 */
typedef void (*vbd_log_line_cb)(
	enum vbd_log_level level, const char *object, const char *text, void *arg);
void vbd_log_set_observer(vbd_log_line_cb cb, void *arg);

#endif
