/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/role.h"

#include <string.h>

VBD_ENUM_NAMES(vbd_role_name, enum vbd_role, VBD_ROLE_MAP)

bool vbd_role_parse(const char *name, enum vbd_role *ret_role)
{
	for (enum vbd_role role = 0; role < VBD_ROLE_COUNT; role++) {
		if (strcmp(vbd_role_name(role), name) == 0) {
			*ret_role = role;
			return true;
		}
	}
	return false;
}
