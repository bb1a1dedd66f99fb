/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/role.h"

VBD_ENUM_NAMES(vbd_role_name, enum vbd_role, VBD_ROLE_MAP)
VBD_ENUM_PARSE(vbd_role_parse, enum vbd_role, 0, VBD_ROLE_COUNT, vbd_role_name)
