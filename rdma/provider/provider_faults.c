/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the provider that can fail: each fails if a fault of a client says so, and is
 * the provider's own function else.
 */
#include "rdma/provider/faults.h"

VBD_ENUM_NAMES(vbd_pv_call_name, enum vbd_pv_call, VBD_PV_CALL_MAP)

/* VBD_OK, or the status with which the call is to fail: then @err is as if the library's function
 * had failed. */
static enum vbd_status failure_of(enum vbd_pv_call call, struct vbd_error *err)
{
#define CALL_OF(symbol, name, function, library, ...) [symbol] = library,
	static const char *const calls[] = {VBD_PV_CALL_MAP(CALL_OF)};
#undef CALL_OF
#define STATUS_OF(symbol, name, function, library, status, ...) [symbol] = (status),
	static const enum vbd_status statuses[] = {VBD_PV_CALL_MAP(STATUS_OF)};
#undef STATUS_OF
	struct vbd_fault_rule rule;

	if (!vbd_fault_take(VBD_FAULT_FAIL_CALL, call, NULL, &rule))
		return VBD_OK;
	if (err && err->status == VBD_OK)
		err->on_purpose = true;
	return vbd_error_errno(
		err, statuses[call], calls[call], rule.errnum, "a fault makes this call fail");
}

/* clang-format off */
#define PLAIN_CALL(symbol, name, function, library, status_, parameters, arguments)         \
	enum vbd_status vbd_pv_##function parameters                                         \
	{                                                                                    \
		enum vbd_status status =                                                     \
			vbd_faults_armed(VBD_FAULT_FAIL_CALL) ? failure_of(symbol, err) : VBD_OK; \
                                                                                             \
		return status ? status : vbd_impl_##function arguments;                      \
	}

VBD_PV_PLAIN_CALL_MAP(PLAIN_CALL)

#define POST_CALL(symbol, name, function, library, status_, parameters, arguments)          \
	enum vbd_status vbd_pv_##function parameters                                         \
	{                                                                                    \
		enum vbd_status status =                                                     \
			vbd_faults_armed(VBD_FAULT_FAIL_CALL) ? failure_of(symbol, err) : VBD_OK; \
                                                                                             \
		if (!status)                                                                 \
			return vbd_impl_##function arguments;                                \
		*ret_bad = wr;                                                               \
		return status;                                                               \
	}

VBD_PV_POST_CALL_MAP(POST_CALL)
/* clang-format on */
