/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The group service: the memberships of endpoints in multicast groups.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_DATAGRAMS_GROUPS_H
#define VBD_DAEMON_DATAGRAMS_GROUPS_H

#include "daemon/datagrams/endpoints.h"
#include "rdma/ud/group.h"

struct vbd_group_record {
	struct vbd_object object; /* first */
	struct vbd_group group;
	struct vbd_link link; /* in the endpoint's list */
	uint64_t endpoint_id;
	uint32_t timeout_ms;
};

struct vbd_group_spec {
	char name[64]; /* "" for none */
	struct vbd_endpoint_record *endpoint;
	char addr[256];
	enum vbd_group_mode mode;
	uint32_t timeout_ms;
};

/** vbd_group_create - begin to join; a later failure is the group's own error */
enum vbd_status vbd_group_create(struct vbd_daemon *daemon, const struct vbd_group_spec *spec,
	struct vbd_group_record **ret_record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_group_ref - a transfer begins to send to the group, which is joined */
void vbd_group_ref(struct vbd_group_record *record);
/** vbd_group_unref - the transfer has ended */
void vbd_group_unref(struct vbd_group_record *record);

/** vbd_groups_endpoint_ended - end the endpoint's groups */
void vbd_groups_endpoint_ended(struct vbd_endpoint_record *endpoint);

/** vbd_groups_destroy_of - free the groups of an ended endpoint */
void vbd_groups_destroy_of(struct vbd_endpoint_record *endpoint);

#endif
