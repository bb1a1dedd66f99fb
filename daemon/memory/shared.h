/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protection domains, completion queues and shared receive queues, which several queue pairs share.
 * The fabric makes them, by itself or for a client, and gives them their ids; each has a record in
 * the registry of its kind while a client may find it.
 *
 * Other objects refer to a shared object by its id, never by a pointer: when its device goes, the
 * id is not found any more. An object in use is not deleted. Its users are listeners, connections
 * and endpoints that have not ended, buffers and shared receive queues.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_MEMORY_SHARED_H
#define VBD_DAEMON_MEMORY_SHARED_H

#include "daemon/core/object.h"
#include "rdma/conn/conn.h"
#include "rdma/fabric/shared.h"

struct vbd_srq_creation;

/* The record of a PD, CQ or SRQ. */
struct vbd_shared {
	struct vbd_object object; /* first */
	union { /* owned by the fabric; `pd` in the registry daemon->pds, and so on */
		void *item;
		struct vbd_pd *pd;
		struct vbd_cq *cq;
		struct vbd_srq *srq;
	};
};

/** vbd_shared_may_add - may @caller make one more object, with this name? */
enum vbd_status vbd_shared_may_add(const struct vbd_registry *registry,
	const struct vbd_caller *caller, const char *name, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_shared_add - put the object @item of the fabric into @registry; vbd_registry_adopt() */
enum vbd_status vbd_shared_add(struct vbd_registry *registry, const struct vbd_origin *origin,
	uint64_t id, void *item, const char *name, struct vbd_shared **ret_shared,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_shared_updated - a client has changed the object: append an event */
void vbd_shared_updated(struct vbd_shared *shared);

/** vbd_shared_remove - free the record of @id, if there is one */
void vbd_shared_remove(struct vbd_registry *registry, uint64_t id);

/** vbd_shared_is_own - whether @object is a PD or CQ that the fabric made by itself, which clients
 * can't delete */
bool vbd_shared_is_own(const struct vbd_object *object);

/** vbd_shared_users_of - the objects that use @shared, as @caller may see them */
void vbd_shared_users_of(const struct vbd_shared *shared, const struct vbd_caller *caller,
	struct vbd_users *ret_users);

/** vbd_shared_delete - delete an object; VBD_E_IN_USE, or VBD_E_WRONG_STATE for one that the fabric
 * made by itself; sets @ret_users in any case */
enum vbd_status vbd_shared_delete(struct vbd_shared *shared, const struct vbd_caller *caller,
	struct vbd_users *ret_users, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_pd_request - make a PD; name_taken, limit_reached, no_device, device_limit, stopping
 * @device_name: "" for the default device */
enum vbd_status vbd_pd_request(struct vbd_daemon *daemon, const struct vbd_origin *origin,
	const char *name, const char *device_name, struct vbd_shared **ret_pd,
	struct vbd_error *err) VBD_MUST_CHECK;

struct vbd_cq_spec {
	struct vbd_origin origin;
	char name[64];
	char device_name[65]; /* "" for the default device */
	uint32_t cqe;
	struct vbd_cq_moderation moderation;
};

/** vbd_cq_request - make a CQ; as vbd_pd_request(), and out_of_range, not_supported */
enum vbd_status vbd_cq_request(struct vbd_daemon *daemon, const struct vbd_cq_spec *spec,
	struct vbd_shared **ret_cq, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_cq_change - change the depth and the moderation; NULL leaves a value as it is. Errors as of
 * vbd_fabric_resize_cq() and vbd_fabric_moderate_cq(). */
enum vbd_status vbd_cq_change(struct vbd_cq *cq, const uint32_t *cqe,
	const struct vbd_cq_moderation *moderation, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_shared_check - do the PD, CQ and SRQ that @params name by id fit together? */
enum vbd_status vbd_shared_check(const struct vbd_daemon *daemon,
	const struct vbd_conn_params *params, struct vbd_error *err) VBD_MUST_CHECK;

/*
 * The creation of a shared receive queue. A call thread registers the memory of its receives, which
 * takes as long as that memory is large; no client sees the SRQ before it is complete.
 */

struct vbd_srq_spec {
	struct vbd_origin origin;
	char name[64];
	char device_name[65]; /* "" for the device of the PD or CQ, or the default device */
	struct vbd_pd *pd;    /* NULL for the device's default PD */
	struct vbd_cq *cq;    /* NULL for a CQ that verbsd makes by itself */
	struct vbd_srq_params params;
};

/* A creation under way. */

/**
 * vbd_srq_made_cb - a creation has ended
 * @srq: the record; NULL after a failure, of which @err tells
 */
typedef void (*vbd_srq_made_cb)(struct vbd_shared *srq, const struct vbd_error *err, void *arg);

/**
 * vbd_srq_request - begin to make an SRQ
 * @made:         called later, exactly once, unless vbd_srq_cancel() is called before
 * @ret_creation: valid until then
 *
 * Errors as of vbd_cq_request(), and bad_value for objects of two devices; @made gets not_found
 * too, if the PD or the CQ has been deleted meanwhile. Does not block.
 */
enum vbd_status vbd_srq_request(struct vbd_daemon *daemon, const struct vbd_srq_spec *spec,
	vbd_srq_made_cb made, void *arg, struct vbd_srq_creation **ret_creation,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_srq_cancel - nobody wants the SRQ any more: it is not made */
void vbd_srq_cancel(struct vbd_srq_creation *creation);

#endif
