/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of kept shared buffers over a restart: systemd holds the descriptor of each buffer's
 * memory, also when the daemon is killed, and the next run makes the buffer of it. The descriptor's
 * name in the FD store has owner and name of the buffer: nobody gets the bytes of another owner.
 *
 * Messages to systemd are sent within the turn. While it does not read, they wait here, in order.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_KEPT_HELD_H
#define VBD_DAEMON_KEPT_HELD_H

#include "daemon/config/callers.h"
#include "daemon/core/registry.h"
#include "daemon/kept/kept.h"

struct vbd_timer;

/* The name in the store: buffer/OWNER/NAME. Neither part has a / in it, and no socket has a name
 * that begins so. */
#define VBD_HELD_PREFIX	    "buffer/"
#define VBD_HELD_NAME_BYTES (sizeof(VBD_HELD_PREFIX) + VBD_CALLER_NAME_BYTES + VBD_NAME_BYTES)

/* systemd passes all names in one variable of the environment, and starts nothing with one of more
 * than 128 KiB (execve(2)). */
#define VBD_HELD_MAX 800

/* A name in the store, from when systemd is to hold something under it until it no longer does. */
struct vbd_held {
	struct vbd_link link;
	struct vbd_kept *kept;	/* NULL: no kept object has the name, or none any more */
	int found_fd;		/* from the run before, until its buffer is made; -1: none */
	uint64_t buffer_id;	/* the buffer that has the memory; 0: none of this run */
	bool is_stored;		/* systemd holds something */
	bool to_remove, to_add; /* a message is to be sent; `to_remove` goes first */
	bool waits;		/* to be added when the FD store has room */
	char name[VBD_HELD_NAME_BYTES];
};

struct vbd_holder {
	struct vbd_daemon *daemon;
	struct vbd_link all; /* of struct vbd_held, in the order of their messages */
	struct vbd_timer *timer;
	uint32_t max;	 /* descriptors that systemd holds at most; 0: there is no store */
	uint32_t stored; /* descriptors that it holds */
	bool is_failing; /* systemd does not read */
};

/** vbd_holder_begin - nothing is held yet; @holder: zeroed */
enum vbd_status vbd_holder_begin(
	struct vbd_holder *holder, struct vbd_daemon *daemon, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_holder_use - systemd holds up to @max descriptors; 0: there is no store; once, at the start,
 * before anything is kept */
void vbd_holder_use(struct vbd_holder *holder, uint32_t max);

/** vbd_holder_found - systemd has passed a descriptor of the run before, which is the holder's now;
 * after vbd_holder_use(), before anything is kept */
void vbd_holder_found(const char *name, int fd, void *holder);

/** vbd_holder_sweep - call this when all objects of lists and of earlier runs are kept: release
 * what belongs to none of them, and log that */
void vbd_holder_sweep(struct vbd_holder *holder);

/** vbd_holder_end - free all; what systemd holds stays; harmless if it was not begun */
void vbd_holder_end(struct vbd_holder *holder);

/** vbd_held_enter - an object is kept from now on: what was found under its name is its own */
void vbd_held_enter(struct vbd_kept *kept);

/** vbd_held_fd - the memory of an earlier run for the buffer, which stays the holder's; -1: none */
int vbd_held_fd(const struct vbd_kept *kept);

/** vbd_held_misfit - the buffer can't have that memory: release it, and log @why */
void vbd_held_misfit(struct vbd_kept *kept, const struct vbd_error *why);

/** vbd_held_up - the object is there: have its memory held, if it is a shared buffer */
void vbd_held_up(struct vbd_kept *kept);

/** vbd_held_drop - the object is kept no longer: nothing is held for it */
void vbd_held_drop(struct vbd_kept *kept);

/** vbd_held_leave - @kept is being freed, and what is held stays for the next run */
void vbd_held_leave(struct vbd_kept *kept);

/** vbd_held_is_stored - whether systemd holds the memory of the buffer */
bool vbd_held_is_stored(const struct vbd_kept *kept);

/*
 * systemd's FD store (FileDescriptorStoreMax= in systemd.service(5)): systemd holds descriptors of
 * the service, and passes them to its next process. What follows is told to the socket that
 * $NOTIFY_SOCKET names, as sd_pid_notify_with_fds(3) does, which would wait for a systemd that is
 * behind with reading. Any thread.
 */

/** vbd_fd_store_add - let systemd hold a duplicate of @fd under @name; another one of the name
 * stays there too. Fails while systemd does not read. systemd does not say when it has no room. */
enum vbd_status vbd_fd_store_add(const char *name, int fd, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fd_store_remove - let systemd close what it holds under @name; fails while systemd does not
 * read */
enum vbd_status vbd_fd_store_remove(const char *name, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fd_store_notify - tell systemd @text, as sd_notify(3) does; lost while systemd does not
 * read, and without systemd */
void vbd_fd_store_notify(char *text);

#endif
