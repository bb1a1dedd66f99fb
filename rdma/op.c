/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/op.h"

#include "base/enum.h"

VBD_ENUM_NAMES(vbd_transport_name, enum vbd_qp_transport, VBD_TRANSPORT_MAP)

const char *vbd_op_name(enum vbd_op op)
{
	static const char *const names[VBD_OP_COUNT] = {
#define VBD_OP_NAME(sym, json) [VBD_OP_##sym] = json,
		VBD_OP_MAP(VBD_OP_NAME)
#undef VBD_OP_NAME
	};

	return names[op];
}

bool vbd_op_is_atomic(enum vbd_op op)
{
	return op == VBD_OP_FETCH_ADD || op == VBD_OP_COMPARE_SWAP;
}

bool vbd_op_has_imm(enum vbd_op op)
{
	return op == VBD_OP_SEND_IMM || op == VBD_OP_WRITE_IMM;
}

bool vbd_op_allowed(enum vbd_op op, enum vbd_qp_transport transport)
{
	switch (op) {
	case VBD_OP_SEND:
	case VBD_OP_SEND_IMM:
	case VBD_OP_RECV:
		return true;
	case VBD_OP_WRITE:
	case VBD_OP_WRITE_IMM:
	case VBD_OP_BIND_WINDOW:
	case VBD_OP_INVALIDATE_WINDOW:
		return transport != VBD_TRANSPORT_UD;
	case VBD_OP_READ:
	case VBD_OP_FETCH_ADD:
	case VBD_OP_COMPARE_SWAP:
		return transport == VBD_TRANSPORT_RC;
	case VBD_OP_COUNT:
		break;
	}
	return false;
}

VBD_ENUM_NAMES(vbd_service_name, enum vbd_service, VBD_SERVICE_MAP)

void vbd_op_counters_copy(struct vbd_op_counters *to, const struct vbd_op_counters *from)
{
	vbd_counter_set(&to->posted, vbd_counter_get(&from->posted));
	vbd_counter_set(&to->completed, vbd_counter_get(&from->completed));
	vbd_counter_set(&to->errors, vbd_counter_get(&from->errors));
	vbd_counter_set(&to->flushed, vbd_counter_get(&from->flushed));
	vbd_counter_set(&to->bytes, vbd_counter_get(&from->bytes));
	vbd_counter_set(&to->signalled, vbd_counter_get(&from->signalled));
}
