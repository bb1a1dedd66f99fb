/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_parts.h"
#include "rdma/fabric/fabric.h"

void vbd_conn_call(
	struct vbd_conn *conn, enum vbd_conn_calling what, void (*work)(struct vbd_call *call))
{
	conn->calling = what;
	conn->call_status = VBD_OK;
	conn->call_error = (struct vbd_error){0};
	conn->call.work = work;
	vbd_call_start(conn->fabric->calls, &conn->call,
		what == VBD_CONN_CALLS_PREPARE ? VBD_LANE_MEMORY : VBD_LANE_PEER);
}
