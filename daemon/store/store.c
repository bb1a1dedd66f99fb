/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/store.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/thread.h"
#include "daemon/store/disk.h"

#include <sys/eventfd.h>
#include <unistd.h>

/* Interval between attempts to write a batch that failed. */
#define RETRY_MS 1000

/* The pause after a batch, in which items collect: else many events would be one transaction
 * each. */
#define PAUSE_NS 2000000

#define BATCH_ITEMS_MAX 1024

struct vbd_store {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	int event_fd;
	struct vbd_disk disk; /* only the store's thread uses it */
	/* The lock guards these: */
	struct vbd_link waiting;
	size_t waiting_bytes;
	struct vbd_store_state state;
	uint64_t newest_ticket; /* the last that vbd_store_put() returned */
	struct vbd_reserve reserve;
	uint64_t attempts;
	bool opened, stopping, closed, ended;
	uint64_t batch_ns; /* when the batch under way began; 0 without one */
	bool overflown;	   /* since the store failed last */
	bool abandoned;	   /* the control thread no longer waits for the load */
};

/* --- the state ------------------------------------------------------------------------------- */

static void signal_event_fd(const struct vbd_store *store)
{
	const uint64_t one = 1;

	/* The write can fail only if the descriptor is readable already. */
	(void)!write(store->event_fd, &one, sizeof(one));
}

static void set_failing(struct vbd_store *store, const struct vbd_error *err)
{
	bool was = store->state.failing;

	store->state.failing = err != NULL;
	store->overflown &= err != NULL;
	(void)snprintf(store->state.text, sizeof(store->state.text), "%s", err ? err->text : "");
	if (was != store->state.failing)
		signal_event_fd(store);
}

/* Under the lock. */
static bool is_half_empty(const struct vbd_store *store)
{
	return store->state.waiting < VBD_STORE_ITEMS_MAX / 2 &&
	       store->waiting_bytes < VBD_STORE_BYTES_MAX / 2;
}

/* Under the lock, by other threads: the store's thread can't report that it hangs. */
static void look_for_hang(struct vbd_store *store)
{
	uint64_t now_ns = vbd_clock_mono_ns();
	struct vbd_error err = {0};

	if (!store->batch_ns || store->state.failing ||
		now_ns < store->batch_ns + VBD_STORE_HANG_MS * VBD_NS_PER_MS)
		return;
	(void)vbd_error_set(&err, VBD_E_TIMED_OUT, "%s did not answer for %d ms",
		vbd_text_path(store->disk.state_dir).text, VBD_STORE_HANG_MS);
	set_failing(store, &err);
}

struct vbd_store_state vbd_store_state(struct vbd_store *store)
{
	struct vbd_store_state state;

	(void)pthread_mutex_lock(&store->lock);
	look_for_hang(store);
	state = store->state;
	(void)pthread_mutex_unlock(&store->lock);
	return state;
}

int vbd_store_fd(const struct vbd_store *store)
{
	return store->event_fd;
}

void vbd_store_rearm(struct vbd_store *store)
{
	uint64_t count;

	(void)!read(store->event_fd, &count, sizeof(count));
}

/* --- opening; the store's thread ------------------------------------------------------------- */

/* Under the lock. */
static void publish_disk_state(struct vbd_store *store)
{
	const struct vbd_disk *disk = &store->disk;

	if (store->state.losses != disk->found.losses || store->state.renewals != disk->renewals)
		signal_event_fd(store);
	store->state.is_open = disk->database != NULL;
	store->state.loaded = disk->loaded;
	store->state.reserved = disk->reserved;
	store->state.losses = disk->found.losses;
	store->state.renewals = disk->renewals;
	memcpy(store->state.loss, disk->found.loss, sizeof(store->state.loss));
}

static void open_store(struct vbd_store *store)
{
	const struct vbd_reserve none = {0};
	struct vbd_error err = {0};
	enum vbd_status status = vbd_disk_open(&store->disk, &none, &err);

	(void)pthread_mutex_lock(&store->lock);
	publish_disk_state(store);
	if (!store->abandoned) {
		store->opened = true;
		store->state.floor = store->disk.floor;
	}
	store->state.failures += status != VBD_OK;
	set_failing(store, status == VBD_OK ? NULL : &err);
	(void)pthread_cond_broadcast(&store->changed);
	(void)pthread_mutex_unlock(&store->lock);
}

/* --- writing; the store's thread ------------------------------------------------------------- */

struct batch {
	struct vbd_link items;
	size_t bytes;
	uint64_t count;
	enum vbd_promise promise; /* the strongest one */
};

/* Under the lock. */
static void take_batch(struct vbd_store *store, struct batch *batch)
{
	while (!vbd_list_empty(&store->waiting) && batch->count < BATCH_ITEMS_MAX) {
		struct vbd_row *row = VBD_LIST_FIRST(&store->waiting, struct vbd_row, link);

		vbd_list_remove(&row->link);
		vbd_list_append(&batch->items, &row->link);
		batch->bytes += row->bytes;
		batch->count++;
		if (row->promise > batch->promise)
			batch->promise = row->promise;
	}
}

/* Under the lock. */
static void put_back_batch(struct vbd_store *store, struct batch *batch)
{
	while (!vbd_list_empty(&batch->items)) {
		struct vbd_link *link = batch->items.prev;

		vbd_list_remove(link);
		vbd_list_prepend(&store->waiting, link);
	}
}

/* Called under the lock, which is released during the write. */
static bool write_batch(struct vbd_store *store)
{
	struct batch batch = {.count = 0};
	struct vbd_reserve reserve = store->reserve;
	struct vbd_error err = {0};
	enum vbd_status status;

	vbd_list_init(&batch.items);
	take_batch(store, &batch);
	store->batch_ns = vbd_clock_mono_ns();
	(void)pthread_mutex_unlock(&store->lock);
	status = vbd_disk_write(&store->disk, &batch.items, batch.promise, &reserve, &err);
	if (status == VBD_OK)
		vbd_rows_free(&batch.items);
	(void)pthread_mutex_lock(&store->lock);
	store->batch_ns = 0;
	store->attempts++;
	publish_disk_state(store);
	if (status != VBD_OK || !store->overflown || is_half_empty(store))
		set_failing(store, status == VBD_OK ? NULL : &err);
	if (status == VBD_OK) {
		store->state.written += batch.count;
		/* Items are written in the order of their tickets. */
		store->state.last_ticket += batch.count;
		if (batch.promise != VBD_PROMISE_NOTHING)
			signal_event_fd(store);
		store->state.waiting -= batch.count;
		store->waiting_bytes -= batch.bytes;
	} else {
		store->state.failures++;
		put_back_batch(store, &batch);
	}
	(void)pthread_cond_broadcast(&store->changed);
	return status == VBD_OK;
}

static void wait_to_retry(struct vbd_store *store)
{
	struct timespec until = vbd_cond_deadline(RETRY_MS);
	int rc = 0;

	while (!store->stopping && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&store->changed, &store->lock, &until);
}

static void pause_after_batch(struct vbd_store *store)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	(void)pthread_mutex_unlock(&store->lock);
	(void)nanosleep(&pause, NULL);
	(void)pthread_mutex_lock(&store->lock);
}

static void drop_waiting_items(struct vbd_store *store)
{
	store->state.dropped += store->state.waiting;
	store->state.waiting = 0;
	store->waiting_bytes = 0;
	vbd_rows_free(&store->waiting);
}

/* Under the lock. */
static bool is_idle(const struct vbd_store *store)
{
	return vbd_list_empty(&store->waiting) &&
	       store->reserve.number == store->disk.reserve_written && !store->state.failing;
}

/* Under the lock. A database that could not be opened is tried again, also without items. */
static void write_until_stopped(struct vbd_store *store)
{
	if (store->state.failing)
		wait_to_retry(store);
	for (;;) {
		bool written;

		if (is_idle(store)) {
			if (store->stopping)
				return;
			(void)pthread_cond_wait(&store->changed, &store->lock);
			continue;
		}
		written = write_batch(store);
		if (store->stopping && (!written || vbd_list_empty(&store->waiting)))
			return;
		if (!written)
			wait_to_retry(store);
		else if (!store->stopping)
			pause_after_batch(store);
	}
}

static void *thread_main(void *arg)
{
	struct vbd_store *store = arg;

	(void)pthread_setname_np(pthread_self(), "verbsd-store");
	open_store(store);
	(void)pthread_mutex_lock(&store->lock);
	write_until_stopped(store);
	store->closed = true;
	store->state.is_open = false;
	drop_waiting_items(store);
	(void)pthread_mutex_unlock(&store->lock);
	vbd_disk_close(&store->disk);
	(void)pthread_mutex_lock(&store->lock);
	store->ended = true;
	(void)pthread_cond_broadcast(&store->changed);
	(void)pthread_mutex_unlock(&store->lock);
	return NULL;
}

/* --- the control thread ---------------------------------------------------------------------- */

/* Under the lock. */
static void set_overflown(struct vbd_store *store)
{
	struct vbd_error err = {0};

	if (store->overflown || store->closed)
		return;
	(void)vbd_error_set(&err, VBD_E_LIMIT_REACHED, "%s takes rows too slowly: some are lost",
		vbd_text_path(store->disk.state_dir).text);
	if (!store->state.failing)
		set_failing(store, &err);
	store->overflown = true;
}

uint64_t vbd_store_put(struct vbd_store *store, enum vbd_promise promise, const char *sql,
	const struct vbd_value *values)
{
	struct vbd_row *row = vbd_row_create(sql, values);
	uint64_t ticket = VBD_TICKET_NONE;

	if (!row)
		return VBD_TICKET_NONE;
	row->promise = promise;
	(void)pthread_mutex_lock(&store->lock);
	if (!store->closed && store->state.waiting < VBD_STORE_ITEMS_MAX &&
		store->waiting_bytes + row->bytes <= VBD_STORE_BYTES_MAX) {
		vbd_list_append(&store->waiting, &row->link);
		store->waiting_bytes += row->bytes;
		store->state.waiting++;
		ticket = ++store->newest_ticket;
		(void)pthread_cond_broadcast(&store->changed);
	} else {
		store->state.dropped++;
		set_overflown(store);
	}
	(void)pthread_mutex_unlock(&store->lock);
	if (ticket == VBD_TICKET_NONE)
		free(row);
	return ticket;
}

uint64_t vbd_store_reserve(struct vbd_store *store, uint64_t highest)
{
	uint64_t number;

	(void)pthread_mutex_lock(&store->lock);
	number = ++store->reserve.number;
	if (highest > store->reserve.highest)
		store->reserve.highest = highest;
	(void)pthread_cond_broadcast(&store->changed);
	(void)pthread_mutex_unlock(&store->lock);
	return number;
}

bool vbd_store_has_room(struct vbd_store *store)
{
	bool has_room;

	(void)pthread_mutex_lock(&store->lock);
	has_room = store->closed || is_half_empty(store);
	(void)pthread_mutex_unlock(&store->lock);
	return has_room;
}

void vbd_store_settle(struct vbd_store *store, unsigned int timeout_ms)
{
	struct timespec until = vbd_cond_deadline(timeout_ms);
	uint64_t before;
	int rc = 0;

	(void)pthread_mutex_lock(&store->lock);
	before = store->attempts;
	while (rc != ETIMEDOUT && !store->closed && store->state.waiting &&
		!(store->state.failing && store->attempts > before))
		rc = pthread_cond_timedwait(&store->changed, &store->lock, &until);
	(void)pthread_mutex_unlock(&store->lock);
}

/* Wait until the store's thread sets @done. Returns false if that takes too long. */
static bool wait_for_flag(struct vbd_store *store, const bool *done, unsigned int timeout_ms)
{
	struct timespec until = vbd_cond_deadline(timeout_ms);
	bool came;
	int rc = 0;

	(void)pthread_mutex_lock(&store->lock);
	while (!*done && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&store->changed, &store->lock, &until);
	came = *done;
	(void)pthread_mutex_unlock(&store->lock);
	return came;
}

static void give_up_load(struct vbd_store *store)
{
	struct vbd_error late = {0};

	(void)vbd_error_set(&late, VBD_E_TIMED_OUT, "%s did not answer for %d ms",
		vbd_text_path(store->disk.state_dir).text, VBD_STORE_OPEN_MS);
	(void)pthread_mutex_lock(&store->lock);
	store->abandoned = !store->opened;
	if (store->abandoned) {
		store->opened = true;
		set_failing(store, &late);
	}
	(void)pthread_mutex_unlock(&store->lock);
}

/* Processor time of the store's thread: it rises while the thread makes progress, even on a slow
 * disk. */
static uint64_t thread_cpu_ns(const struct vbd_store *store)
{
	struct timespec used = {0};
	clockid_t clock;

	if (pthread_getcpuclockid(store->thread, &clock) == 0)
		(void)clock_gettime(clock, &used);
	return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

static void wait_for_load(struct vbd_store *store)
{
	uint64_t before, now = 0;

	do {
		before = now;
		if (wait_for_flag(store, &store->opened, VBD_STORE_OPEN_MS))
			return;
		now = thread_cpu_ns(store);
	} while (now > before);
	give_up_load(store);
}

enum vbd_status vbd_store_create(const char *state_dir, const struct vbd_store_ops *ops, void *arg,
	struct vbd_store **ret_store, struct vbd_error *err)
{
	struct vbd_store *store = calloc(1, sizeof(*store));
	enum vbd_status status;

	if (!store)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the store");
	vbd_disk_init(&store->disk, state_dir, ops, arg);
	store->state.floor = store->disk.floor;
	store->newest_ticket = store->state.last_ticket = VBD_TICKET_KNOWN;
	vbd_list_init(&store->waiting);
	store->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (store->event_fd < 0) {
		status = vbd_error_errno(err, VBD_OK, "eventfd", errno, "the store");
		goto free_store;
	}
	(void)pthread_mutex_init(&store->lock, NULL);
	vbd_cond_init(&store->changed);
	status = vbd_thread_start(
		thread_main, store, "no thread for the store", &store->thread, err);
	if (status != VBD_OK)
		goto close_fd;
	wait_for_load(store);
	*ret_store = store;
	return VBD_OK;

close_fd:
	(void)close(store->event_fd);
free_store:
	free(store);
	return status;
}

bool vbd_store_destroy(struct vbd_store *store, unsigned int timeout_ms)
{
	if (!store)
		return true;
	(void)pthread_mutex_lock(&store->lock);
	store->stopping = true;
	(void)pthread_cond_broadcast(&store->changed);
	(void)pthread_mutex_unlock(&store->lock);
	if (!wait_for_flag(store, &store->ended, timeout_ms)) {
		(void)pthread_detach(store->thread);
		return false;
	}
	(void)pthread_join(store->thread, NULL);
	(void)close(store->event_fd);
	free(store);
	return true;
}
