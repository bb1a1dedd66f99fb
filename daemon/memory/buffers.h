/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers: named, registered memory. Allocation, registration and checksums run on the thread pool.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_MEMORY_BUFFERS_H
#define VBD_DAEMON_MEMORY_BUFFERS_H

#include "base/enum.h"
#include "daemon/core/object.h"
#include "rdma/device/calls.h"
#include "rdma/device/device.h"
#include "rdma/device/mem.h"

/* X(SYMBOL, json name, ended) */
#define VBD_BUFFER_STATE_MAP(X)                                                     \
	X(VBD_BUFFER_REGISTERING, "registering", false)                             \
	X(VBD_BUFFER_READY, "ready", false)                                         \
	X(VBD_BUFFER_LOST, "lost", false)    /* device removed; the data is kept */ \
	X(VBD_BUFFER_FAILED, "failed", true) /* registration failed, see `error` */

enum vbd_buffer_state { VBD_BUFFER_STATE_MAP(VBD_ENUM_ROW) VBD_BUFFER_STATE_COUNT };

const char *vbd_buffer_state_name(enum vbd_buffer_state state);

struct vbd_qp;

struct vbd_buffer {
	struct vbd_object object; /* first: id, name */
	enum vbd_buffer_state state;
	struct vbd_mem mem;	/* size_bytes, kind, access, addr, rkey */
	struct vbd_error error; /* why the buffer is FAILED */
	uint64_t counted_bytes; /* included in the daemon's buffers_bytes */
	struct vbd_device_id device;
	uint64_t pd_id; /* of the buffer's protection domain */
	uint32_t users; /* transfers and windows that use the buffer */
	uint32_t refs;	/* references: readers of the data (downloads, uploads, checksums) and
			    `users`; a deleted buffer is freed at 0 */
	struct vbd_call revocation; /* of the keys; its `work` is NULL unless under way */

	/* A registration on the thread pool uses these. */
	struct vbd_pd *new_pd;
	bool restores; /* the buffer was LOST, and has its memory */
};

/* Memory of an earlier run, for a new shared buffer. */
struct vbd_buffer_bytes {
	int fd;			 /* stays the caller's: the buffer has a duplicate */
	struct vbd_error misfit; /* set if the memory does not fit: the buffer has zeros */
};

struct vbd_buffer_spec {
	struct vbd_origin origin;
	char name[64]; /* "" for none */
	uint64_t size_bytes;
	enum vbd_mem_kind kind;
	unsigned int access; /* vbd_mem_access */
	/* For HUGEPAGE, 0: the kernel's default size; for SHARED, 0: normal pages. */
	uint64_t page_size_bytes;
	bool relaxed_ordering; /* see struct vbd_mem */
	bool on_demand_paging;
	char device_name[65];		/* "" for the PD's, or the default device */
	uint64_t pd_id;			/* 0 for the device's default PD */
	struct vbd_buffer_bytes *bytes; /* NULL: zeros */
};

/**
 * vbd_buffer_create - begin to allocate and register
 * @ret_buffer: REGISTERING; its watches are called when it becomes READY or FAILED
 *
 * Returns the errors of @spec (VBD_E_NAME_TAKEN, _LIMIT_REACHED, _NO_DEVICE, _NOT_SUPPORTED,
 * _BAD_VALUE, _STOPPING, _FD_LIMIT). A later failure is the buffer's own `error`, until it is
 * deleted.
 */
enum vbd_status vbd_buffer_create(struct vbd_daemon *daemon, const struct vbd_buffer_spec *spec,
	struct vbd_buffer **ret_buffer, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_buffer_restore - begin to register a LOST buffer again, with the bytes that it has
 * @spec: names the device or the PD; the rest of it is not used
 *
 * It is REGISTERING then, and READY or again LOST later. Returns VBD_E_WRONG_STATE, VBD_E_IN_USE
 * while transfers or windows hold it on the old device, VBD_E_NO_DEVICE, _NOT_SUPPORTED,
 * _BAD_VALUE, _STOPPING.
 */
enum vbd_status vbd_buffer_restore(struct vbd_buffer *buffer, const struct vbd_buffer_spec *spec,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_buffer_delete - remove the buffer from its registry now; VBD_E_IN_USE while it is being
 * registered or has users (see vbd_buffer_users_of()) */
enum vbd_status vbd_buffer_delete(struct vbd_buffer *buffer, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_buffer_users_of - the transfers and windows that use the buffer, as @caller may see them */
void vbd_buffer_users_of(const struct vbd_buffer *buffer, const struct vbd_caller *caller,
	struct vbd_users *ret_users);

/** vbd_buffer_check_qp - can work requests of @qp use a ready buffer? VBD_E_BAD_VALUE at @pointer
 * for one on another device, VBD_E_PD_MISMATCH */
enum vbd_status vbd_buffer_check_qp(const struct vbd_buffer *buffer, const struct vbd_qp *qp,
	const char *pointer, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_buffer_has_bytes - VBD_OK if there is data to read and write; VBD_E_WRONG_STATE while the
 * buffer is being registered, and after it FAILED */
enum vbd_status vbd_buffer_has_bytes(
	const struct vbd_buffer *buffer, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_buffer_fd - the descriptor of a shared buffer's memory, which stays the buffer's; -1 if it
 * has none now: the buffer is not shared, is being registered, or failed */
int vbd_buffer_fd(const struct vbd_buffer *buffer);

/**
 * vbd_buffer_open - make a descriptor of a shared buffer's memory for another program
 * @writable: see vbd_memfd_reopen()
 * @ret_fd: owned by the caller; set on success
 *
 * Returns VBD_E_WRONG_STATE if the buffer has no bytes now or is of another kind; VBD_E_FD_LIMIT.
 */
enum vbd_status vbd_buffer_open(const struct vbd_buffer *buffer, bool writable, int *ret_fd,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_buffers_writable - may a peer write into any buffer of @pd? */
bool vbd_buffers_writable(const struct vbd_daemon *daemon, const struct vbd_pd *pd);

/** vbd_buffer_ref - keep the data accessible until vbd_buffer_unref() */
void vbd_buffer_ref(struct vbd_buffer *buffer);
void vbd_buffer_unref(struct vbd_buffer *buffer);

/** vbd_buffer_unref_user - drop the reference of a transfer or window (in `users` and `refs`) */
void vbd_buffer_unref_user(struct vbd_buffer *buffer);

/** vbd_buffer_check_range - VBD_E_RANGE_NOT_SATISFIABLE at @pointer unless the range lies inside
 * the buffer */
enum vbd_status vbd_buffer_check_range(const struct vbd_buffer *buffer, uint64_t offset,
	uint64_t length_bytes, const char *pointer, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_memory_work - run @work, whose time grows with the memory of an object, on the thread pool,
 * and then @done; both at once if it does not take long, the daemon stops, or the pool refuses it
 * @work: of the struct that begins with @object, as @done
 * @done: calls vbd_memory_work_done() at its end, for which the end of the daemon waits
 */
void vbd_memory_work(struct vbd_object *object, bool takes_long, void (*work)(void *arg),
	void (*done)(void *arg));
void vbd_memory_work_done(struct vbd_daemon *daemon);

/** vbd_buffers_device_removing - deregister the device's buffers, which become LOST */
struct vbd_device;
void vbd_buffers_device_removing(struct vbd_daemon *daemon, struct vbd_device *device);

#endif
