/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/config_reload.h"

#include "daemon/config/config_parts.h"

#include <assert.h>

/* Is the key read again after the start? Who may send requests comes from these files and groups.
 */
static bool is_taken(const struct vbd_config_key *key, const struct vbd_config *config,
	const struct vbd_config *fresh)
{
	static const char *const names[] = {"control_token_file", "read_token_file", "callers_file",
		"control_group", "operate_group", "read_group", "log_level", "drain_timeout_ms",
		"shutdown_timeout_ms"};
	const char *name;

	for (size_t i = 0; i < VBD_ARRAY_LEN(names); i++) {
		if (strcmp(names[i], key->name) == 0)
			return true;
	}
	/* Whether an address is served by TLS is decided when it is opened. */
	if (vbd_config_section_of(key, &name) == VBD_CONFIG_TLS)
		return config->tls.certificate[0] && fresh->tls.certificate[0];
	/* libmicrohttpd gets its number of connections when it starts. */
	return vbd_config_section_of(key, &name) == VBD_CONFIG_LIMITS &&
	       strcmp(name, "http_connections") != 0;
}

/* A configuration is zeroed before its values are set, so that equal values have equal bytes, but
 * for what stands behind the end of a text. */
static bool differs(const struct vbd_config_key *key, const struct vbd_config *config,
	const struct vbd_config *fresh)
{
	const char *a = (const char *)config + key->offset;
	const char *b = (const char *)fresh + key->offset;

	return key->kind == VBD_CONFIG_TEXT ? strcmp(a, b) != 0
					    : memcmp(a, b, key->size_bytes) != 0;
}

void vbd_config_compare(const struct vbd_config *config, const struct vbd_config *fresh,
	struct vbd_config_changes *ret_changes)
{
	*ret_changes = (struct vbd_config_changes){0};
	assert(vbd_config_key_count <= VBD_CONFIG_CHANGES_MAX);
	for (size_t i = 0; i < vbd_config_key_count; i++) {
		const struct vbd_config_key *key = &vbd_config_keys[i];

		if (!differs(key, config, fresh))
			continue;
		if (is_taken(key, config, fresh))
			ret_changes->taken[ret_changes->n_taken++] = key->name;
		else
			ret_changes->left[ret_changes->n_left++] = key->name;
	}
}

void vbd_config_take(struct vbd_config *config, const struct vbd_config *fresh)
{
	const struct vbd_config before = *config;

	for (size_t i = 0; i < vbd_config_key_count; i++) {
		const struct vbd_config_key *key = &vbd_config_keys[i];

		if (is_taken(key, &before, fresh))
			memcpy((char *)config + key->offset, (const char *)fresh + key->offset,
				key->size_bytes);
	}
	memcpy(config->control_token, fresh->control_token, sizeof(config->control_token));
	memcpy(config->read_token, fresh->read_token, sizeof(config->read_token));
}
