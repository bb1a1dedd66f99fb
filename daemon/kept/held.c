/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/kept/held.h"

#include "base/log.h"
#include "daemon/kept/kept_made.h"
#include "daemon/kept/reconciler.h"
#include "daemon/memory/buffers.h"
#include "daemon/store/keeper.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* systemd gets at most so many messages in a turn. */
#define TOLD_PER_TURN 16

/* Pause before the next try, if systemd does not read its socket. */
#define RETRY_MS 200

/* --- the FD store of systemd ----------------------------------------------------------------- */

/* $NOTIFY_SOCKET is a path, or "@" and the name of an abstract socket (sd_notify(3)). */
static bool find_notify_socket(struct sockaddr_un *ret_addr, socklen_t *ret_bytes)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t len = path ? strlen(path) : 0;

	if (len < 2 || len >= sizeof(ret_addr->sun_path) || (path[0] != '/' && path[0] != '@'))
		return false;
	*ret_addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(ret_addr->sun_path, path, len);
	*ret_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
	if (path[0] == '@') {
		ret_addr->sun_path[0] = '\0';
		(*ret_bytes)--;
	}
	return true;
}

/* @fd: -1 for none */
static enum vbd_status send_text(int to, char *text, int fd, struct vbd_error *err)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = text, .iov_len = strlen(text)};
	struct sockaddr_un addr;
	struct msghdr message = {.msg_name = &addr, .msg_iov = &iov, .msg_iovlen = 1};

	if (!find_notify_socket(&addr, &message.msg_namelen))
		return vbd_error_set(err, VBD_E_NOT_FOUND, "there is no socket of systemd");
	if (fd >= 0) {
		control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(sizeof(int))};
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	if (sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return vbd_error_errno(
			err, VBD_E_INTERNAL, "sendmsg", errno, "systemd takes no message");
	return VBD_OK;
}

static enum vbd_status send_message(char *text, int fd, struct vbd_error *err)
{
	enum vbd_status status;
	int to = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (to < 0)
		return vbd_error_errno(
			err, VBD_E_INTERNAL, "socket", errno, "a message to systemd");
	status = send_text(to, text, fd, err);
	(void)close(to);
	return status;
}

void vbd_fd_store_notify(char *text)
{
	(void)!send_message(text, -1, NULL);
}

static enum vbd_status send_name(const char *what, const char *name, int fd, struct vbd_error *err)
{
	char text[320];

	(void)snprintf(text, sizeof(text), "%s=1\nFDNAME=%s", what, name);
	return send_message(text, fd, err);
}

enum vbd_status vbd_fd_store_add(const char *name, int fd, struct vbd_error *err)
{
	return send_name("FDSTORE", name, fd, err);
}

enum vbd_status vbd_fd_store_remove(const char *name, struct vbd_error *err)
{
	return send_name("FDSTOREREMOVE", name, -1, err);
}

/* --- what is held ---------------------------------------------------------------------------- */

static struct vbd_holder *holder_of(const struct vbd_kept *kept)
{
	return &kept->object.registry->daemon->reconciler->holder;
}

static void close_found_fd(struct vbd_held *held)
{
	if (held->found_fd >= 0)
		(void)close(held->found_fd);
	held->found_fd = -1;
}

static void free_held(struct vbd_held *held)
{
	close_found_fd(held);
	vbd_list_remove(&held->link);
	free(held);
}

static struct vbd_held *new_held(struct vbd_holder *holder, const char *name)
{
	struct vbd_held *held = calloc(1, sizeof(*held));

	if (!held)
		return NULL;
	(void)snprintf(held->name, sizeof(held->name), "%s", name);
	held->found_fd = -1;
	vbd_list_append(&holder->all, &held->link);
	return held;
}

static void log_without_bytes(struct vbd_kept *kept, const char *text)
{
	vbd_object_log(&kept->object, VBD_EVENT_KEPT_OBJECT_WITHOUT_BYTES, VBD_SEVERITY_WARNING,
		VBD_OK, "buffer %s: %.160s", kept->object.name, text);
}

/* --- what systemd is told -------------------------------------------------------------------- */

/* The buffer and its kept object show clients whether the bytes outlive the daemon. */
static void mark_changed(const struct vbd_held *held)
{
	struct vbd_object *made = held->kept ? vbd_kept_made(held->kept) : NULL;

	if (held->kept)
		held->kept->object.version++;
	if (made)
		made->version++;
}

static bool remove_from_store(
	struct vbd_holder *holder, struct vbd_held *held, struct vbd_error *err)
{
	if (vbd_fd_store_remove(held->name, err) != VBD_OK)
		return false;
	held->to_remove = false;
	held->is_stored = false;
	holder->stored--;
	return true;
}

static bool add_to_fd_store(struct vbd_holder *holder, struct vbd_held *held, struct vbd_error *err)
{
	struct vbd_object *made = held->kept ? vbd_kept_made(held->kept) : NULL;
	int fd = made && made->id == held->buffer_id
			 ? vbd_buffer_fd(VBD_CONTAINER_OF(made, struct vbd_buffer, object))
			 : -1;

	if (fd >= 0 && vbd_fd_store_add(held->name, fd, err) != VBD_OK)
		return false;
	held->to_add = false;
	held->is_stored = fd >= 0;
	holder->stored += held->is_stored;
	mark_changed(held);
	return true;
}

static void wait_for_room(struct vbd_holder *holder, struct vbd_held *held)
{
	char text[120];

	(void)snprintf(text, sizeof(text),
		"its bytes will not be there after a restart: systemd has room for %u of them",
		holder->max);
	held->waits = true;
	log_without_bytes(held->kept, text);
}

/* The first one about which systemd is to get a message now; NULL: none. */
static struct vbd_held *next_to_tell(const struct vbd_holder *holder)
{
	bool has_room = holder->stored < holder->max;

	vbd_list_for_each (link, &holder->all) {
		struct vbd_held *held = VBD_CONTAINER_OF(link, struct vbd_held, link);

		if (held->to_remove || (held->to_add && (has_room || !held->waits)))
			return held;
	}
	return NULL;
}

/* Returns false if systemd does not read. */
static bool sync_with_fd_store(
	struct vbd_holder *holder, struct vbd_held *held, struct vbd_error *err)
{
	if (held->to_remove && !remove_from_store(holder, held, err))
		return false;
	if (held->to_add && held->kept && holder->stored >= holder->max)
		wait_for_room(holder, held);
	else if (held->to_add && !add_to_fd_store(holder, held, err))
		return false;
	if (!held->kept && !held->is_stored)
		free_held(held);
	return true;
}

static void tell_systemd_some(struct vbd_holder *holder)
{
	struct vbd_held *held = next_to_tell(holder);
	struct vbd_error err = {0};
	bool is_read = true;

	for (int i = 0; held && i < TOLD_PER_TURN && is_read; i++) {
		is_read = sync_with_fd_store(holder, held, &err);
		held = next_to_tell(holder);
	}
	if (!is_read && !holder->is_failing)
		vbd_log(VBD_LOG_WARNING, NULL,
			"%s; the bytes of new kept buffers are not held until it does", err.text);
	holder->is_failing = !is_read;
	if (held)
		vbd_timer_set(holder->timer, is_read ? 0 : RETRY_MS);
}

static void on_tell_timer(void *arg)
{
	tell_systemd_some(arg);
}

static void queue_for_systemd(struct vbd_holder *holder, struct vbd_held *held)
{
	held->waits = false;
	vbd_list_remove(&held->link);
	vbd_list_append(&holder->all, &held->link);
	if (!holder->is_failing)
		tell_systemd_some(holder);
}

/* --- what the run before has left ------------------------------------------------------------ */

void vbd_holder_use(struct vbd_holder *holder, uint32_t max)
{
	holder->max = max < VBD_HELD_MAX ? max : VBD_HELD_MAX;
}

static struct vbd_held *find_unclaimed(const struct vbd_holder *holder, const char *name)
{
	vbd_list_for_each (link, &holder->all) {
		struct vbd_held *held = VBD_CONTAINER_OF(link, struct vbd_held, link);

		if (!held->kept && !held->to_remove && strcmp(held->name, name) == 0)
			return held;
	}
	return NULL;
}

void vbd_holder_found(const char *name, int fd, void *arg)
{
	struct vbd_holder *holder = arg;
	struct vbd_held *held = find_unclaimed(holder, name);

	if (held)
		close_found_fd(held);
	else if (strlen(name) < VBD_HELD_NAME_BYTES)
		held = new_held(holder, name);
	if (held && !held->is_stored) {
		held->found_fd = fd;
		held->is_stored = true;
		holder->stored++;
		return;
	}
	vbd_log(VBD_LOG_WARNING, NULL, "descriptor %.140s from systemd is closed: %s", name,
		held ? "there are two of the name" : "no buffer can be meant");
	(void)close(fd);
}

/* Are all kept objects known? Not without the rows of state_dir, which the next run may read. */
static bool knows_all_kept(const struct vbd_daemon *daemon)
{
	char unused[8];

	return vbd_keeper_check(daemon, unused, sizeof(unused)) != VBD_KEEPING_FAILING;
}

void vbd_holder_sweep(struct vbd_holder *holder)
{
	bool is_known = knows_all_kept(holder->daemon);

	vbd_list_for_each (link, &holder->all) {
		struct vbd_held *held = VBD_CONTAINER_OF(link, struct vbd_held, link);

		if (held->kept)
			continue;
		close_found_fd(held);
		vbd_log(VBD_LOG_WARNING, NULL,
			"descriptor %.140s from systemd is closed: no such buffer is kept%s",
			held->name, is_known ? "" : " now; systemd holds on to it");
		held->to_remove = is_known;
	}
	tell_systemd_some(holder);
}

/* --- buffers --------------------------------------------------------------------------------- */

static void make_store_name(const struct vbd_kept *kept, char ret_name[VBD_HELD_NAME_BYTES])
{
	(void)snprintf(ret_name, VBD_HELD_NAME_BYTES, VBD_HELD_PREFIX "%s/%s",
		kept->object.owner ? kept->object.owner->name : "", kept->object.name);
}

void vbd_held_enter(struct vbd_kept *kept)
{
	char name[VBD_HELD_NAME_BYTES];

	if (kept->of != VBD_KIND_BUFFER)
		return;
	make_store_name(kept, name);
	kept->held = find_unclaimed(holder_of(kept), name);
	if (kept->held)
		kept->held->kept = kept;
}

int vbd_held_fd(const struct vbd_kept *kept)
{
	return kept->held ? kept->held->found_fd : -1;
}

void vbd_held_misfit(struct vbd_kept *kept, const struct vbd_error *why)
{
	char text[200];

	(void)snprintf(text, sizeof(text),
		"what was in it before the start is gone, it has zeros: %.100s", why->text);
	close_found_fd(kept->held);
	log_without_bytes(kept, text);
}

/* Whether the next run will look for the bytes of @buffer. */
static bool wants_bytes_held(const struct vbd_kept *kept, const struct vbd_buffer *buffer)
{
	const struct vbd_daemon *daemon = kept->object.registry->daemon;

	return buffer->mem.kind == VBD_MEM_SHARED &&
	       (kept->source == VBD_KEPT_FROM_CONFIG || daemon->keeper);
}

void vbd_held_up(struct vbd_kept *kept)
{
	struct vbd_holder *holder = holder_of(kept);
	struct vbd_object *made = vbd_kept_made(kept);
	const struct vbd_buffer *buffer;
	char name[VBD_HELD_NAME_BYTES];

	if (kept->of != VBD_KIND_BUFFER || !made || (!holder->max && !kept->held))
		return;
	buffer = VBD_CONTAINER_OF(made, struct vbd_buffer, object);
	if (!wants_bytes_held(kept, buffer)) {
		vbd_held_drop(kept);
		return;
	}
	make_store_name(kept, name);
	if (!kept->held)
		kept->held = new_held(holder, name);
	if (!kept->held || kept->held->buffer_id == made->id)
		return;
	kept->held->kept = kept;
	kept->held->buffer_id = made->id;
	close_found_fd(kept->held);
	/* The buffer has the memory that was found, which systemd holds already. */
	if (buffer->mem.has_bytes)
		return;
	kept->held->to_remove = kept->held->is_stored;
	kept->held->to_add = true;
	queue_for_systemd(holder, kept->held);
}

void vbd_held_leave(struct vbd_kept *kept)
{
	if (kept->held)
		kept->held->kept = NULL;
	kept->held = NULL;
}

void vbd_held_drop(struct vbd_kept *kept)
{
	struct vbd_held *held = kept->held;

	if (!held)
		return;
	vbd_held_leave(kept);
	close_found_fd(held);
	held->to_add = false;
	held->to_remove = held->is_stored;
	if (held->is_stored)
		queue_for_systemd(holder_of(kept), held);
	else
		free_held(held);
}

bool vbd_held_is_stored(const struct vbd_kept *kept)
{
	const struct vbd_held *held = kept->held;

	return held && held->is_stored && !held->to_remove &&
	       (held->found_fd >= 0 || held->buffer_id == kept->made_id);
}

/* --- life ------------------------------------------------------------------------------------ */

enum vbd_status vbd_holder_begin(
	struct vbd_holder *holder, struct vbd_daemon *daemon, struct vbd_error *err)
{
	holder->daemon = daemon;
	vbd_list_init(&holder->all);
	return vbd_timer_create(daemon->loop, on_tell_timer, holder, &holder->timer, err);
}

void vbd_holder_end(struct vbd_holder *holder)
{
	if (!holder->daemon)
		return;
	vbd_timer_destroy(holder->timer);
	vbd_list_for_each (link, &holder->all)
		free_held(VBD_CONTAINER_OF(link, struct vbd_held, link));
}
