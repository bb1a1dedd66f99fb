/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers: registered memory under a name. Allocation, registration and checksums run on the thread
 * pool.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_MEMORY_BUFFERS_H
#define VBD_DAEMON_MEMORY_BUFFERS_H

#include "base/enum.h"
#include "daemon/core/object.h"
#include "rdma/device/mem.h"

/* X(SYMBOL, json name) */
#define VBD_BUFFER_STATE_MAP(X)                                                            \
	X(VBD_BUFFER_REGISTERING, "registering")                                           \
	X(VBD_BUFFER_READY, "ready")                                                       \
	X(VBD_BUFFER_LOST, "lost")     /* its device is gone; the bytes are still there */ \
	X(VBD_BUFFER_FAILED, "failed") /* it could not be registered; `error` says why */

enum vbd_buffer_state { VBD_BUFFER_STATE_MAP(VBD_ENUM_ROW) VBD_BUFFER_STATE_COUNT };

const char *vbd_buffer_state_name(enum vbd_buffer_state state);

struct vbd_buffer {
	struct vbd_object object; /* first: id, name */
	struct vbd_daemon *daemon;
	enum vbd_buffer_state state;
	struct vbd_mem mem;	/* size_bytes, kind, access, addr, rkey, shm_name */
	struct vbd_error error; /* why it is FAILED */
	uint64_t pinned_bytes;	/* counted in the daemon's */
	char device_name[64];
	uint64_t pd_id; /* of the protection domain it was made in */
	uint32_t users; /* transfers and windows that use it now */
	uint32_t holds; /* readers of its bytes: downloads, uploads, checksums, and `users`; freed
			   at 0 when deleted */
};

struct vbd_buffer_spec {
	char name[64]; /* "" for none */
	uint64_t size_bytes;
	enum vbd_mem_kind kind;
	unsigned int access;   /* vbd_mem_access */
	uint64_t page_bytes;   /* of a HUGEPAGE one; 0 for the kernel's default */
	bool relaxed_ordering; /* see struct vbd_mem */
	bool on_demand;
	char device_name[65]; /* "" for the PD's, or the default device */
	uint64_t pd_id;	      /* 0 for the device's default one */
};

/**
 * vbd_buffer_create - begin to allocate and register
 * @ret_buffer: REGISTERING; its watches are told when it is READY or FAILED
 *
 * What is known at once (name_taken, limit_reached, no_device, not_supported, bad_value, stopping)
 * is returned; what fails later is the buffer's own `error`, until it is deleted.
 */
enum vbd_status vbd_buffer_create(struct vbd_daemon *daemon, const struct vbd_buffer_spec *spec,
	struct vbd_buffer **ret_buffer, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_buffer_delete - in_use while it is being registered or used (the users' paths:
 * vbd_buffer_users()); else out of the registry now */
enum vbd_status vbd_buffer_delete(struct vbd_buffer *buffer, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_buffer_users - paths of up to @max transfers and windows that use it, "/v1/transfers/9";
 * returns how many were written */
size_t vbd_buffer_users(const struct vbd_buffer *buffer, char (*paths)[48], size_t max);

/** vbd_buffer_has_bytes - are there bytes to read and write? wrong_state while it is being
 * registered, and when it failed */
enum vbd_status vbd_buffer_has_bytes(
	const struct vbd_buffer *buffer, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_buffers_writable - may a peer write into any buffer of @pd? */
bool vbd_buffers_writable(const struct vbd_daemon *daemon, const struct vbd_pd *pd);

/** vbd_buffer_ref - its bytes stay readable and writable until vbd_buffer_unref() */
void vbd_buffer_ref(struct vbd_buffer *buffer);
void vbd_buffer_unref(struct vbd_buffer *buffer);

/** vbd_buffer_unref_user - a transfer or window (in `users` and `holds`) has ended */
void vbd_buffer_unref_user(struct vbd_buffer *buffer);

/** vbd_buffer_check_range - range_not_satisfiable unless offset + length lies inside (pointer:
 * which member to blame) */
enum vbd_status vbd_buffer_check_range(const struct vbd_buffer *buffer, uint64_t offset,
	uint64_t length_bytes, const char *pointer, struct vbd_error *err) VBD_MUST_CHECK;

enum vbd_checksum {
	VBD_CHECKSUM_CRC32C,
	VBD_CHECKSUM_SHA256,
};

/** vbd_checksum_cb - @hex: lower-case hex text */
typedef void (*vbd_checksum_cb)(const char *hex, const struct vbd_error *err, void *arg);

/** vbd_buffer_checksum - of a range that vbd_buffer_check_range() passes, on the thread pool; @cb
 * runs later, once */
enum vbd_status vbd_buffer_checksum(struct vbd_buffer *buffer, enum vbd_checksum algorithm,
	uint64_t offset, uint64_t length_bytes, vbd_checksum_cb cb, void *arg,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_buffers_device_removing - deregister what is on the device: the buffers become LOST */
struct vbd_device;
void vbd_buffers_device_removing(struct vbd_daemon *daemon, struct vbd_device *device);

#endif
