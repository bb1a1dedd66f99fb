/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue between the threads that have lines and the file that takes them: standard error for
 * base/log.h, or a file of its own. A reader that stands still, a full disk or a lost journal must
 * not stop a thread that has other work, so a thread of the queue writes. The queue has a fixed
 * size. Lines that find it full are dropped, and a line that says how many stands at their place
 * once the file takes lines again.
 *
 * Descriptors stay blocking: O_NONBLOCK would belong to the open file, which other processes share.
 *
 * Any thread, but one thread starts a queue.
 */
#ifndef VBD_BASE_LOG_QUEUE_H
#define VBD_BASE_LOG_QUEUE_H

#include "base/error.h"

#include <limits.h>
#include <pthread.h>
#include <sys/types.h>

/* Memory of the lines that wait, in bytes. */
#define VBD_LOG_QUEUE_BYTES 262144

/* Longest line in bytes, with its newline. */
#define VBD_LOG_LINE_BYTES 1600

/* Time that the last lines have to reach a reader that stands still, when the process ends. */
#define VBD_LOG_GRACE_MS 500

/* Writes the line that says how many lines were dropped; returns its length in bytes. It runs on
 * the thread of the queue. */
typedef size_t (*vbd_log_notice_cb)(char line[VBD_LOG_LINE_BYTES], uint64_t lines);

struct vbd_log_state {
	uint64_t lines_dropped; /* since the queue was made */
	uint64_t stalled_ns;	/* since the present write began; 0: no write is under way */
	int error;		/* errno of the last write; 0: it succeeded */
	int reopen_error;	/* errno of the last vbd_log_queue_reopen(); 0: it succeeded */
};

/* Members are for base/log_queue.c. */
struct vbd_log_queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	int fd;
	vbd_log_notice_cb notice;
	bool running;
	bool stopping;
	bool ended;
	bool lost; /* the thread is blocked in a write for good */
	bool reopen;
	mode_t mode;
	char path[PATH_MAX]; /* "" for a descriptor of somebody else */
	/* Positions of bytes since the start. The ring holds those from first to last. */
	uint64_t first;
	uint64_t last;
	uint64_t gap_at; /* where dropped lines are missing */
	uint64_t unsaid; /* dropped lines that no notice has reported yet */
	struct vbd_log_state state;
	uint64_t writing_since_ns;
	char ring[VBD_LOG_QUEUE_BYTES];
};

/* A queue in static memory for a descriptor that somebody else opened and closes. */
#define VBD_LOG_QUEUE_INIT(descriptor, notice_cb)                                            \
	{                                                                                    \
		.lock = PTHREAD_MUTEX_INITIALIZER, .fd = (descriptor), .notice = (notice_cb) \
	}

/**
 * vbd_log_queue_create - append lines to a file by a thread
 * @path:   opened with O_APPEND, and created if it is missing; a FIFO without a
 *          reader is refused
 * @mode:   permissions of a new file
 * @notice: says that lines were dropped
 *
 * The caller ends the queue by vbd_log_queue_destroy(). Returns VBD_OK, or the status of the
 * failed call.
 */
enum vbd_status vbd_log_queue_create(const char *path, mode_t mode, vbd_log_notice_cb notice,
	struct vbd_log_queue **ret_queue, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_log_queue_destroy - write the lines that wait, close the file and release the queue
 * @queue:      from vbd_log_queue_create(), or NULL
 * @timeout_ms: upper limit of the time that this call blocks
 *
 * No other thread may use the queue any more. If the file takes no lines, its thread and memory
 * stay until the process ends.
 */
void vbd_log_queue_destroy(struct vbd_log_queue *queue, unsigned int timeout_ms);

/**
 * vbd_log_queue_start - start the thread of a queue in static memory
 *
 * Returns VBD_OK, or the status of a failed pthread_create(3).
 */
enum vbd_status vbd_log_queue_start(
	struct vbd_log_queue *queue, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_log_queue_stop - write the lines that wait, and end the thread
 * @timeout_ms: upper limit of the time that this call blocks
 *
 * If the file still takes no lines then, the lines that wait and all later ones are lost. Does
 * nothing if the thread does not run.
 */
void vbd_log_queue_stop(struct vbd_log_queue *queue, unsigned int timeout_ms);

/**
 * vbd_log_queue_put - queue a line for the thread
 * @line:      ends with a newline
 * @len_bytes: at most VBD_LOG_LINE_BYTES
 *
 * Does not block while the thread runs. Before its start and after its end, this call writes: it
 * waits at most 100 ms for the file, then drops the line.
 */
void vbd_log_queue_put(struct vbd_log_queue *queue, const char *line, size_t len_bytes);

/**
 * vbd_log_queue_reopen - let the thread open the file by its path again, after a rotation
 *
 * Does not block. Lines put before go to the old file, unless they still wait. If the open fails,
 * the old file stays, and the state has the error.
 */
void vbd_log_queue_reopen(struct vbd_log_queue *queue);

/** vbd_log_queue_state - dropped lines and failed writes; does not block */
struct vbd_log_state vbd_log_queue_state(struct vbd_log_queue *queue);

#endif
