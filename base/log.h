/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logging: one line for each decision, with the object that it concerns. base/ and rdma/ log only
 * at debug level; daemon/ and api/ log an error once, where they decide what to do about it.
 *
 * Any thread; does not block between vbd_log_start() and vbd_log_stop(), when a thread of the queue
 * writes the lines.
 */
#ifndef VBD_BASE_LOG_H
#define VBD_BASE_LOG_H

#include "base/attr.h"
#include "base/enum.h"
#include "base/log_queue.h"

#include <stdarg.h>

/* X(SYMBOL, name, syslog priority) */
#define VBD_LOG_LEVEL_MAP(X)             \
	X(VBD_LOG_ERROR, "error", 3)     \
	X(VBD_LOG_WARNING, "warning", 4) \
	X(VBD_LOG_NOTICE, "notice", 5)   \
	X(VBD_LOG_INFO, "info", 6)       \
	X(VBD_LOG_DEBUG, "debug", 7)

enum vbd_log_level { VBD_LOG_LEVEL_MAP(VBD_ENUM_ROW) VBD_LOG_LEVEL_COUNT };

enum vbd_log_format {
	VBD_LOG_TEXT,
	VBD_LOG_JSON,	 /* one JSON object a line */
	VBD_LOG_JOURNAL, /* "<4>text": journald reads the priority from the prefix */
};

/**
 * vbd_log_setup - choose level and format; the format only before any other thread starts
 * @level:  lines of this level and of more severe ones are written
 */
void vbd_log_setup(enum vbd_log_level level, enum vbd_log_format format);

/** vbd_log_set_level - any thread */
void vbd_log_set_level(enum vbd_log_level level);

/** vbd_log_enabled - whether lines of this level are written */
bool vbd_log_enabled(enum vbd_log_level level);

/**
 * vbd_log - hand one line to standard error
 * @object: the object concerned ("connection/7"), or NULL for the daemon itself
 * @fmt:    printf(3) format; control characters and bytes that are not UTF-8 are replaced
 */
void vbd_log(enum vbd_log_level level, const char *object, const char *fmt, ...) VBD_PRINTF(3, 4);

/** vbd_log_start - let a thread write the log; see vbd_log_queue_start() */
enum vbd_status vbd_log_start(struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_log_stop - write the lines that wait, and end the thread; see vbd_log_queue_stop() */
void vbd_log_stop(unsigned int timeout_ms);

/** vbd_log_state - dropped lines and failed writes of the log; does not block; any thread */
struct vbd_log_state vbd_log_state(void);

/**
 * vbd_log_set_observer - call @cb for every line; tests fail on unexpected warnings with it
 * @cb:  runs on the thread that logs the line; NULL removes the observer
 * @arg: passed to @cb
 */
typedef void (*vbd_log_line_cb)(
	enum vbd_log_level level, const char *object, const char *text, void *arg);
void vbd_log_set_observer(vbd_log_line_cb cb, void *arg);

#endif
