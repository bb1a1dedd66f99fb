/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that several queue pairs share: protection domains, completion queues and shared
 * receive queues. The fabric lists them; their names, limits and users are here.
 *
 * Other objects refer to one by its id, never by a pointer: when its device goes, the object is not
 * found any more. An object in use is not deleted. Its users are listeners, connections and
 * endpoints that have not ended, buffers and shared receive queues.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_MEMORY_SHARED_H
#define VBD_DAEMON_MEMORY_SHARED_H

#include "daemon/core/context.h"
#include "rdma/conn/conn.h"
#include "rdma/fabric/shared.h"

#define VBD_USERS_SHOWN_MAX 16

struct vbd_shared_users {
	size_t total;
	size_t shown; /* of paths */
	char paths[VBD_USERS_SHOWN_MAX][VBD_PATH_BYTES];
};

/** vbd_pd_find_ref - by id or name; NULL and not_found */
struct vbd_pd *vbd_pd_find_ref(struct vbd_daemon *daemon, const char *ref, struct vbd_error *err);
struct vbd_cq *vbd_cq_find_ref(struct vbd_daemon *daemon, const char *ref, struct vbd_error *err);
struct vbd_srq *vbd_srq_find_ref(struct vbd_daemon *daemon, const char *ref, struct vbd_error *err);

/** vbd_pd_users_of - the objects that name it */
void vbd_pd_users_of(const struct vbd_daemon *daemon, const struct vbd_pd *pd,
	struct vbd_shared_users *ret_users);
void vbd_cq_users_of(const struct vbd_daemon *daemon, const struct vbd_cq *cq,
	struct vbd_shared_users *ret_users);
void vbd_srq_users_of(const struct vbd_daemon *daemon, const struct vbd_srq *srq,
	struct vbd_shared_users *ret_users);

/** vbd_pd_request - make one; name_taken, limit_reached, no_device, device_limit, stopping
 * @device_name: "" for the default device */
enum vbd_status vbd_pd_request(struct vbd_daemon *daemon, const char *name, const char *device_name,
	struct vbd_pd **ret_pd, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_pd_delete_unused - in_use; wrong_state for a default one, which goes with its device */
enum vbd_status vbd_pd_delete_unused(
	struct vbd_daemon *daemon, struct vbd_pd *pd, struct vbd_error *err) VBD_MUST_CHECK;

struct vbd_cq_spec {
	char name[64];
	char device_name[65]; /* "" for the default device */
	uint32_t depth_cqe;
	struct vbd_cq_moderation moderation;
};

/** vbd_cq_request - make one; as vbd_pd_request(), and out_of_range, not_supported */
enum vbd_status vbd_cq_request(struct vbd_daemon *daemon, const struct vbd_cq_spec *spec,
	struct vbd_cq **ret_cq, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_cq_change - both or nothing; NULL leaves as it is. What vbd_fabric_resize_cq() and
 * vbd_fabric_moderate_cq() refuse. */
enum vbd_status vbd_cq_change(struct vbd_cq *cq, const uint32_t *depth_cqe,
	const struct vbd_cq_moderation *moderation, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_cq_delete_unused - in_use; wrong_state for one that verbsd made by itself */
enum vbd_status vbd_cq_delete_unused(
	struct vbd_daemon *daemon, struct vbd_cq *cq, struct vbd_error *err) VBD_MUST_CHECK;

struct vbd_srq_spec {
	char name[64];
	char device_name[65]; /* "" for that of the PD or CQ, or the default one */
	struct vbd_pd *pd;    /* NULL for the device's default one */
	struct vbd_cq *cq;    /* NULL for one of verbsd's own */
	struct vbd_srq_params params;
};

/** vbd_srq_request - make one; as vbd_cq_request(), and bad_value for objects of two devices */
enum vbd_status vbd_srq_request(struct vbd_daemon *daemon, const struct vbd_srq_spec *spec,
	struct vbd_srq **ret_srq, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_srq_delete_unused - in_use */
enum vbd_status vbd_srq_delete_unused(
	struct vbd_daemon *daemon, struct vbd_srq *srq, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_shared_check - do the PD, CQ and SRQ that @params name by id fit together? */
enum vbd_status vbd_shared_check(const struct vbd_daemon *daemon,
	const struct vbd_conn_params *params, struct vbd_error *err) VBD_MUST_CHECK;

#endif
