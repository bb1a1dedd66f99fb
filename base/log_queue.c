/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log_queue.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/thread.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

/* One write: a pipe takes up to PIPE_BUF (4096) bytes at once, so lines do not mix with those of
 * other processes. */
#define WRITE_BYTES 4096

#define DIRECT_TIMEOUT_MS 100

/* Interval between attempts to say that lines were dropped, as long as writes fail. */
#define RETRY_MS 1000

struct batch {
	char bytes[WRITE_BYTES + VBD_LOG_LINE_BYTES];
	size_t len;
	size_t notice_len; /* of the notice at its start; 0 for none */
	uint64_t said;	   /* dropped lines that the notice reports */
};

/* --- the ring; under the lock ---------------------------------------------------------------- */

static void drop_lines(struct vbd_log_queue *queue, uint64_t lines, uint64_t at)
{
	queue->state.lines_dropped += lines;
	if (!queue->unsaid)
		queue->gap_at = at;
	queue->unsaid += lines;
}

static void append_line(struct vbd_log_queue *queue, const char *line, size_t len)
{
	size_t at = queue->last % VBD_LOG_QUEUE_BYTES;
	size_t to_end = VBD_LOG_QUEUE_BYTES - at;
	size_t part = len < to_end ? len : to_end;

	bool gap_waits = queue->unsaid && queue->gap_at != queue->first;

	/* One gap at a time: its notice counts all lines that are missing between its neighbours.
	 */
	if (gap_waits || queue->last - queue->first + len > VBD_LOG_QUEUE_BYTES) {
		drop_lines(queue, 1, queue->last);
		return;
	}
	memcpy(queue->ring + at, line, part);
	memcpy(queue->ring, line + part, len - part);
	queue->last += len;
}

static size_t len_of_whole_lines(const char *bytes, size_t len)
{
	while (len && bytes[len - 1] != '\n')
		len--;
	return len;
}

/* Move lines from the ring into @batch, up to the next gap. */
static void take_batch(struct vbd_log_queue *queue, struct batch *batch)
{
	uint64_t end = queue->last;
	size_t at = queue->first % VBD_LOG_QUEUE_BYTES;
	char *to = batch->bytes;
	size_t len, part;

	batch->said = 0;
	batch->notice_len = 0;
	if (queue->unsaid && queue->gap_at == queue->first) {
		batch->said = queue->unsaid;
		queue->unsaid = 0;
		batch->notice_len = queue->notice(to, batch->said);
		to += batch->notice_len;
	} else if (queue->unsaid) {
		end = queue->gap_at;
	}
	len = end - queue->first < WRITE_BYTES ? (size_t)(end - queue->first) : WRITE_BYTES;
	part = len < VBD_LOG_QUEUE_BYTES - at ? len : VBD_LOG_QUEUE_BYTES - at;
	memcpy(to, queue->ring + at, part);
	memcpy(to + part, queue->ring, len - part);
	len = len_of_whole_lines(to, len);
	queue->first += len;
	batch->len = batch->notice_len + len;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Returns 0 or an errno, and the number of bytes written in any case. */
static int write_bytes(int fd, const char *bytes, size_t len, size_t *ret_written)
{
	struct pollfd writable = {.fd = fd, .events = POLLOUT};
	ssize_t count;

	*ret_written = 0;
	while (*ret_written < len) {
		count = write(fd, bytes + *ret_written, len - *ret_written);
		if (count > 0)
			*ret_written += (size_t)count;
		else if (count == 0)
			return EIO;
		else if (errno == EAGAIN) /* another process made it non-blocking */
			(void)poll(&writable, 1, -1);
		else if (errno != EINTR)
			return errno;
	}
	return 0;
}

static uint64_t count_lines(const char *bytes, size_t len)
{
	uint64_t lines = 0;

	for (size_t i = 0; i < len; i++)
		lines += bytes[i] == '\n';
	return lines;
}

/* Leaves the lock during the write. */
static void write_batch(struct vbd_log_queue *queue, const struct batch *batch)
{
	size_t written;
	int rc;

	queue->writing_since_ns = vbd_clock_mono_ns();
	(void)pthread_mutex_unlock(&queue->lock);
	rc = write_bytes(queue->fd, batch->bytes, batch->len, &written);
	(void)pthread_mutex_lock(&queue->lock);
	queue->writing_since_ns = 0;
	queue->state.error = rc;
	if (!rc)
		return;
	if (written < batch->notice_len) {
		written = batch->notice_len;
		queue->unsaid += batch->said;
	}
	drop_lines(queue, count_lines(batch->bytes + written, batch->len - written), queue->first);
	queue->gap_at = queue->first;
}

static int open_log_file(const char *path, mode_t mode)
{
	int fd =
		open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, mode);

	/* O_NONBLOCK was for the open alone: it does not wait for the reader of a FIFO. */
	if (fd >= 0)
		(void)fcntl(fd, F_SETFL, O_APPEND);
	return fd;
}

/* Leaves the lock during the open. Only the thread changes the descriptor. */
static void reopen_log_file(struct vbd_log_queue *queue)
{
	int fd, rc;

	queue->reopen = false;
	(void)pthread_mutex_unlock(&queue->lock);
	fd = open_log_file(queue->path, queue->mode);
	rc = fd < 0 ? errno : 0;
	if (fd >= 0)
		(void)close(queue->fd);
	(void)pthread_mutex_lock(&queue->lock);
	if (fd >= 0)
		queue->fd = fd;
	queue->state.reopen_error = rc;
}

/* --- the thread ------------------------------------------------------------------------------ */

/* A notice alone waits for RETRY_MS after a failed write. */
static void wait_for_lines(struct vbd_log_queue *queue)
{
	struct timespec until;

	if (!queue->unsaid) {
		(void)pthread_cond_wait(&queue->changed, &queue->lock);
		return;
	}
	until = vbd_cond_deadline(RETRY_MS);
	(void)pthread_cond_timedwait(&queue->changed, &queue->lock, &until);
}

static void *thread_main(void *arg)
{
	struct vbd_log_queue *queue = arg;
	struct batch batch;

	(void)pthread_setname_np(pthread_self(), "verbsd-log");
	(void)pthread_mutex_lock(&queue->lock);
	for (;;) {
		if (queue->reopen)
			reopen_log_file(queue);
		if (queue->first == queue->last && (!queue->unsaid || queue->state.error)) {
			if (queue->stopping)
				break;
			wait_for_lines(queue);
			if (queue->reopen || (queue->first == queue->last && !queue->unsaid))
				continue;
		}
		take_batch(queue, &batch);
		write_batch(queue, &batch);
	}
	queue->ended = true;
	(void)pthread_cond_broadcast(&queue->changed);
	(void)pthread_mutex_unlock(&queue->lock);
	return NULL;
}

static void write_line_now(struct vbd_log_queue *queue, const char *line, size_t len)
{
	struct pollfd writable = {.fd = queue->fd, .events = POLLOUT};
	size_t written;

	if (!queue->lost && poll(&writable, 1, DIRECT_TIMEOUT_MS) == 1)
		queue->state.error = write_bytes(queue->fd, line, len, &written);
	else
		queue->state.error = EAGAIN;
	if (queue->state.error)
		drop_lines(queue, 1, queue->last);
}

/* --- for other files ------------------------------------------------------------------------- */

void vbd_log_queue_put(struct vbd_log_queue *queue, const char *line, size_t len_bytes)
{
	(void)pthread_mutex_lock(&queue->lock);
	if (queue->running) {
		append_line(queue, line, len_bytes);
		(void)pthread_cond_broadcast(&queue->changed);
	} else {
		write_line_now(queue, line, len_bytes);
	}
	(void)pthread_mutex_unlock(&queue->lock);
}

void vbd_log_queue_reopen(struct vbd_log_queue *queue)
{
	(void)pthread_mutex_lock(&queue->lock);
	queue->reopen = queue->path[0] != '\0';
	(void)pthread_cond_broadcast(&queue->changed);
	(void)pthread_mutex_unlock(&queue->lock);
}

enum vbd_status vbd_log_queue_start(struct vbd_log_queue *queue, struct vbd_error *err)
{
	enum vbd_status status;

	vbd_cond_init(&queue->changed);
	queue->stopping = false;
	queue->ended = false;
	queue->running = true;
	status = vbd_thread_start(thread_main, queue, "no thread for the log", &queue->thread, err);
	if (status)
		queue->running = false;
	return status;
}

void vbd_log_queue_stop(struct vbd_log_queue *queue, unsigned int timeout_ms)
{
	struct timespec until = vbd_cond_deadline(timeout_ms);
	bool ran;
	int rc = 0;

	(void)pthread_mutex_lock(&queue->lock);
	queue->stopping = true;
	if (queue->running)
		(void)pthread_cond_broadcast(&queue->changed);
	while (queue->running && !queue->ended && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&queue->changed, &queue->lock, &until);
	ran = queue->running; /* false for the second of two threads that stop the log */
	queue->lost |= ran && !queue->ended;
	queue->running = false;
	(void)pthread_mutex_unlock(&queue->lock);
	if (!ran)
		return;
	if (queue->lost)
		(void)pthread_detach(queue->thread); /* the end of the process ends it */
	else
		(void)pthread_join(queue->thread, NULL);
}

struct vbd_log_state vbd_log_queue_state(struct vbd_log_queue *queue)
{
	struct vbd_log_state state;

	(void)pthread_mutex_lock(&queue->lock);
	state = queue->state;
	if (queue->writing_since_ns)
		state.stalled_ns = vbd_clock_mono_ns() - queue->writing_since_ns;
	(void)pthread_mutex_unlock(&queue->lock);
	return state;
}

enum vbd_status vbd_log_queue_create(const char *path, mode_t mode, vbd_log_notice_cb notice,
	struct vbd_log_queue **ret_queue, struct vbd_error *err)
{
	struct vbd_log_queue *queue = calloc(1, sizeof(*queue));
	enum vbd_status status;

	if (!queue)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the lines of %s",
			vbd_text_path(path).text);
	(void)pthread_mutex_init(&queue->lock, NULL);
	queue->notice = notice;
	queue->fd = open_log_file(path, mode);
	if (queue->fd < 0) {
		status = vbd_error_errno(
			err, VBD_OK, "open", errno, "can't write %s", vbd_text_path(path).text);
		goto free_queue;
	}
	queue->mode = mode;
	(void)snprintf(queue->path, sizeof(queue->path), "%s", path);
	status = vbd_log_queue_start(queue, err);
	if (status)
		goto close_file;
	*ret_queue = queue;
	return VBD_OK;

close_file:
	(void)close(queue->fd);
free_queue:
	free(queue);
	return status;
}

void vbd_log_queue_destroy(struct vbd_log_queue *queue, unsigned int timeout_ms)
{
	if (!queue)
		return;
	vbd_log_queue_stop(queue, timeout_ms);
	if (queue->lost)
		return;
	(void)close(queue->fd);
	free(queue);
}
