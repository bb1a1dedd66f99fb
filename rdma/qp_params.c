/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/qp_params.h"

#include "rdma/channel.h"

struct vbd_qp_params vbd_qp_params_default(void)
{
	return (struct vbd_qp_params){
		.transport = VBD_TRANSPORT_RC,
		.service = VBD_SERVICE_INBOX,
		.sq_depth = 64,
		.rq_depth = 16,
		.recv_size_bytes = 4096,
		.max_send_sge = 4,
		.max_recv_sge = 1,
		.inline_bytes = VBD_INLINE_BYTES,
		.signal_every = 1,
	};
}
