/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials for tests that need no configuration. */
#ifndef VBD_TESTS_UNIT_CREDENTIALS_H
#define VBD_TESTS_UNIT_CREDENTIALS_H

#include "api/http/auth.h"
#include "daemon/config/config.h"

/* Make credentials of the tokens of both roles, of which each may be NULL, and use them. */
static inline struct vbd_credentials *unit_credentials(
	struct vbd_callers *callers, const char *control_token, const char *read_token)
{
	struct vbd_config *config = calloc(1, sizeof(*config));
	struct vbd_caller_list list = {0};
	struct vbd_credentials *credentials = NULL;

	if (!config)
		abort();
	(void)snprintf(config->control_token, sizeof(config->control_token), "%s",
		control_token ? control_token : "");
	(void)snprintf(
		config->read_token, sizeof(config->read_token), "%s", read_token ? read_token : "");
	if (vbd_caller_list_load(config, &list, NULL) != VBD_OK ||
		vbd_credentials_create(callers, &list, &credentials, NULL) != VBD_OK)
		abort();
	free(config);
	vbd_credentials_use(credentials, NULL);
	return credentials;
}

#endif
