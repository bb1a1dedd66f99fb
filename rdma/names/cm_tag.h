/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The id->context of every CM id points to a tag, which gives an event its object and the object's
 * kind before any cast.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_NAMES_CM_TAG_H
#define VBD_RDMA_NAMES_CM_TAG_H

#include <stdbool.h>

struct vbd_cm_tag {
	enum vbd_cm_kind {
		VBD_CM_CONN,
		VBD_CM_LISTENER,
		VBD_CM_ENDPOINT,
		VBD_CM_PEER,
		VBD_CM_GROUP,
		VBD_CM_OVER, /* the id is being destroyed */
		VBD_CM_GOODBYE,
		VBD_CM_REPORT_PORT,
	} kind;
	bool disconnect_failed; /* no DISCONNECTED follows it */
};

#endif
