/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/callers.h"

#include <gnutls/crypto.h>

#include <grp.h>

void vbd_caller_list_fini(struct vbd_caller_list *list)
{
	free(list->entries);
	free(list->credentials);
	*list = (struct vbd_caller_list){0};
}

struct vbd_caller_entry *vbd_caller_list_add(
	struct vbd_caller_list *list, const char *name, enum vbd_role role)
{
	struct vbd_caller_entry *entries = NULL;
	struct vbd_caller_entry *entry;

	if (list->n_entries < VBD_CALLERS_MAX)
		entries = reallocarray(
			list->entries, list->n_entries + 1, sizeof(struct vbd_caller_entry));
	if (!entries)
		return NULL;
	list->entries = entries;
	entry = &entries[list->n_entries++];
	*entry = (struct vbd_caller_entry){.role = role};
	(void)snprintf(entry->name, sizeof(entry->name), "%s", name);
	return entry;
}

struct vbd_credential *vbd_caller_list_know(
	struct vbd_caller_list *list, enum vbd_credential_kind kind)
{
	struct vbd_credential *credentials = NULL;
	struct vbd_credential *credential;

	if (list->n_credentials < VBD_CREDENTIALS_MAX)
		credentials = reallocarray(
			list->credentials, list->n_credentials + 1, sizeof(struct vbd_credential));
	if (!credentials)
		return NULL;
	list->credentials = credentials;
	credential = &credentials[list->n_credentials++];
	*credential = (struct vbd_credential){.kind = kind, .caller = list->n_entries - 1};
	return credential;
}

bool vbd_token_hash(const char *token, uint8_t ret_sha256[VBD_SHA256_BYTES])
{
	return gnutls_hash_fast(GNUTLS_DIG_SHA256, token, strlen(token), ret_sha256) == 0;
}

enum vbd_status vbd_callers_find_group(const char *name, uint32_t *ret_gid, struct vbd_error *err)
{
	struct group group, *found = NULL;
	char room[16384];

	/* A group whose members do not fit is still found: only its id is needed. */
	if (getgrnam_r(name, &group, room, sizeof(room), &found) == 0 && found) {
		*ret_gid = found->gr_gid;
		return VBD_OK;
	}
	return vbd_error_set(err, VBD_E_BAD_VALUE, "there is no group '%.40s'", name);
}
