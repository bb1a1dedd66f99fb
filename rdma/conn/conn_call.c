/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_parts.h"
#include "rdma/fabric/fabric.h"

#include <stdlib.h>

enum vbd_status vbd_conn_call_create(
	struct vbd_conn *conn, struct vbd_conn_call **ret_call, struct vbd_error *err)
{
	struct vbd_conn_call *call = calloc(1, sizeof(*call));

	if (!call)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a call");
	call->conn = conn;
	call->call.done = conn->call_done;
	*ret_call = call;
	return VBD_OK;
}

void vbd_conn_call_start(
	struct vbd_conn_call *call, enum vbd_conn_calling what, void (*work)(struct vbd_call *call))
{
	struct vbd_conn *conn = call->conn;

	conn->calling = what;
	conn->call = call;
	call->call.work = work;
	vbd_call_start(conn->fabric->calls, &call->call,
		what == VBD_CONN_CALLS_PREPARE ? VBD_LANE_MEMORY : VBD_LANE_PEER);
}
