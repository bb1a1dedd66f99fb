/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/op.h"

const char *vbd_op_name(enum vbd_op op)
{
	static const char *const names[VBD_OP_COUNT] = {
#define VBD_OP_NAME(sym, json) [VBD_OP_##sym] = json,
		VBD_OP_MAP(VBD_OP_NAME)
#undef VBD_OP_NAME
	};

	return names[op];
}

const char *vbd_service_name(enum vbd_service service)
{
	static const char *const names[VBD_SERVICE_COUNT] = {
#define VBD_SERVICE_NAME(sym, json) [VBD_SERVICE_##sym] = json,
		VBD_SERVICE_MAP(VBD_SERVICE_NAME)
#undef VBD_SERVICE_NAME
	};

	return names[service];
}
