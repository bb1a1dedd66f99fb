/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/op.h"

#include <infiniband/verbs.h>

VBD_ENUM_NAMES(vbd_transport_name, enum vbd_qp_transport, VBD_TRANSPORT_MAP)

const struct vbd_op_traits vbd_ops[VBD_OP_COUNT] = {
#define VBD_OP_ROW(                                                                                \
	sym, json, rc, uc, ud, remote, imm, atomic, sends, may_inline, chunks, capability, opcode) \
	[sym] = {json, {rc, uc, ud}, remote, imm, atomic, sends, may_inline, chunks,               \
		VBD_CAP_##capability, IBV_WR_##opcode},
	VBD_OP_MAP(VBD_OP_ROW)
#undef VBD_OP_ROW
};

const char *vbd_op_name(enum vbd_op op)
{
	return vbd_ops[op].name;
}

bool vbd_op_allowed(enum vbd_op op, enum vbd_qp_transport transport)
{
	return vbd_ops[op].transports[transport];
}

VBD_ENUM_NAMES(vbd_service_name, enum vbd_service, VBD_SERVICE_MAP)
VBD_ENUM_NAMES(vbd_poll_name, enum vbd_poll, VBD_POLL_MAP)
