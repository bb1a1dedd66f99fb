/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/names/connect_refusal.h"

VBD_ENUM_NAMES(vbd_connect_refusal_name, enum vbd_connect_refusal, VBD_CONNECT_REFUSAL_MAP)
VBD_ENUM_COLUMN(const char *, vbd_connect_refusal_text, enum vbd_connect_refusal,
	VBD_CONNECT_REFUSAL_MAP, 3)
VBD_ENUM_COLUMN(const char *, vbd_connect_refusal_told, enum vbd_connect_refusal,
	VBD_CONNECT_REFUSAL_MAP, 4)
VBD_ENUM_COLUMN(const char *, vbd_connect_refusal_advice, enum vbd_connect_refusal,
	VBD_CONNECT_REFUSAL_MAP, 5)
