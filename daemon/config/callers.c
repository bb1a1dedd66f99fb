/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/callers.h"

#include "daemon/config/config.h"

/* The token of a file of its own: a caller that has the name of its role. */
static enum vbd_status add_token(
	struct vbd_caller_list *list, enum vbd_role role, const char *token, struct vbd_error *err)
{
	struct vbd_credential *credential;

	if (!vbd_caller_list_add(list, vbd_role_name(role), role))
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the callers");
	if (!token[0])
		return VBD_OK;
	credential = vbd_caller_list_know(list, VBD_CREDENTIAL_TOKEN);
	if (!credential)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the callers");
	if (!vbd_token_hash(token, credential->sha256))
		return vbd_error_set(err, VBD_E_INTERNAL, "there is no SHA-256");
	return VBD_OK;
}

static enum vbd_status add_group(const char *key, const char *name,
	struct vbd_caller_group *ret_group, struct vbd_error *err)
{
	struct vbd_error cause = {0};

	ret_group->is_set = name[0] != '\0';
	if (!ret_group->is_set || vbd_callers_find_group(name, &ret_group->gid, &cause) == VBD_OK)
		return VBD_OK;
	return vbd_error_input(err, cause.status, key, "%s: %s", key, cause.text);
}

static enum vbd_status load(
	const struct vbd_config *config, struct vbd_caller_list *list, struct vbd_error *err)
{
	enum vbd_status status = add_token(list, VBD_ROLE_CONTROL, config->control_token, err);

	if (status == VBD_OK)
		status = add_token(list, VBD_ROLE_READ, config->read_token, err);
	if (status == VBD_OK)
		status = add_group(
			"control_group", config->control_group, &list->control_group, err);
	if (status == VBD_OK)
		status = add_group(
			"operate_group", config->operate_group, &list->operate_group, err);
	if (status == VBD_OK)
		status = add_group("read_group", config->read_group, &list->read_group, err);
	if (status == VBD_OK && config->callers_file[0])
		status = vbd_callers_file_read(config->callers_file, list, err);
	return status;
}

/* FNV-1a */
static void mix(uint64_t *sum, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		*sum = (*sum ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
}

static void sum_entries(struct vbd_caller_list *list)
{
	for (size_t i = 0; i < list->n_entries; i++) {
		struct vbd_caller_entry *entry = &list->entries[i];

		entry->sum = UINT64_C(0xcbf29ce484222325);
		mix(&entry->sum, &entry->role, sizeof(entry->role));
		mix(&entry->sum, &entry->quotas, sizeof(entry->quotas));
	}
	for (size_t i = 0; i < list->n_credentials; i++) {
		const struct vbd_credential *from = &list->credentials[i];
		uint64_t *sum = &list->entries[from->caller].sum;

		mix(sum, &from->kind, sizeof(from->kind));
		mix(sum, &from->expires_wall_s, sizeof(from->expires_wall_s));
		mix(sum, &from->id, sizeof(from->id));
		mix(sum, from->sha256, sizeof(from->sha256));
		mix(sum, from->cert_name, sizeof(from->cert_name));
	}
	for (size_t i = 0; i < list->n_entries; i++)
		list->entries[i].sum |= 1;
}

enum vbd_status vbd_caller_list_load(
	const struct vbd_config *config, struct vbd_caller_list *ret, struct vbd_error *err)
{
	struct vbd_caller_list list = {0};
	enum vbd_status status = load(config, &list, err);

	if (status != VBD_OK) {
		vbd_caller_list_fini(&list);
		return status;
	}
	sum_entries(&list);
	*ret = list;
	return VBD_OK;
}
