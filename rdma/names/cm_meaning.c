/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/names/cm_meaning.h"

#include <rdma/rdma_cma.h>

/* IB_CM_REJ_TIMEOUT of the kernel's rdma/ib_cm.h. */
#define REJ_TIMEOUT 4

VBD_ENUM_COLUMN(const char *, vbd_cm_meaning_text, enum vbd_cm_meaning, VBD_CM_MEANING_MAP, 2)
VBD_ENUM_COLUMN(const char *, vbd_cm_meaning_hint, enum vbd_cm_meaning, VBD_CM_MEANING_MAP, 3)

enum vbd_cm_meaning vbd_cm_meaning(int type, int64_t status, bool established, bool passive)
{
	/* The kernel tells of a neighbour that changed (cma_netevent_work_handler(), 6.1). */
	if (established)
		return type == RDMA_CM_EVENT_UNREACHABLE ? VBD_CM_ADDRESS_TAKEN : VBD_CM_AS_IT_SAYS;
	/* A peer that has got no answer in time says so by a rejection. */
	if (passive && (type == RDMA_CM_EVENT_UNREACHABLE || type == RDMA_CM_EVENT_CONNECT_ERROR ||
			       (type == RDMA_CM_EVENT_REJECTED && status == REJ_TIMEOUT)))
		return VBD_CM_NOT_CONFIRMED;
	return VBD_CM_AS_IT_SAYS;
}
