/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/credentials.h"

#include <gnutls/gnutls.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct vbd_credentials {
	struct vbd_callers *callers;
	struct vbd_caller_list list;
	struct vbd_caller *control, *read;
	struct vbd_caller *of_entry[]; /* references, by index in list.entries */
};

static struct vbd_caller *named(const struct vbd_credentials *credentials, const char *name)
{
	for (size_t i = 0; i < credentials->list.n_entries; i++) {
		if (strcmp(credentials->list.entries[i].name, name) == 0)
			return credentials->of_entry[i];
	}
	return NULL;
}

enum vbd_status vbd_credentials_create(struct vbd_callers *callers, struct vbd_caller_list *list,
	struct vbd_credentials **ret_credentials, struct vbd_error *err)
{
	struct vbd_credentials *credentials =
		calloc(1, sizeof(*credentials) + list->n_entries * sizeof(struct vbd_caller *));
	bool complete = credentials != NULL;

	if (!complete)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the callers");
	credentials->callers = callers;
	credentials->list = *list;
	for (size_t i = 0; i < list->n_entries && complete; i++) {
		credentials->of_entry[i] = vbd_callers_get(callers, list->entries[i].name);
		complete = credentials->of_entry[i] != NULL;
	}
	credentials->control = named(credentials, VBD_CALLER_CONTROL);
	credentials->read = named(credentials, VBD_CALLER_READ);
	if (!complete) {
		credentials->list = (struct vbd_caller_list){.n_entries = list->n_entries};
		vbd_credentials_destroy(credentials);
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the callers");
	}
	*list = (struct vbd_caller_list){0};
	*ret_credentials = credentials;
	return VBD_OK;
}

void vbd_credentials_use(
	const struct vbd_credentials *credentials, const struct vbd_credentials *before)
{
	for (size_t i = 0; before && i < before->list.n_entries; i++)
		before->of_entry[i]->role = VBD_ROLE_NONE;
	for (size_t i = 0; i < credentials->list.n_entries; i++) {
		const struct vbd_caller_entry *entry = &credentials->list.entries[i];

		credentials->of_entry[i]->role = entry->role;
		credentials->of_entry[i]->quotas = entry->quotas;
	}
}

void vbd_credentials_destroy(struct vbd_credentials *credentials)
{
	if (!credentials)
		return;
	for (size_t i = 0; i < credentials->list.n_entries; i++)
		vbd_caller_unref(credentials->of_entry[i]);
	vbd_caller_list_fini(&credentials->list);
	free(credentials);
}

bool vbd_credentials_none(const struct vbd_credentials *credentials)
{
	for (size_t i = 0; i < credentials->list.n_credentials; i++) {
		enum vbd_credential_kind kind = credentials->list.credentials[i].kind;

		if (kind == VBD_CREDENTIAL_TOKEN || kind == VBD_CREDENTIAL_CERT)
			return false;
	}
	return true;
}

struct vbd_caller *vbd_credentials_of_token(const struct vbd_credentials *credentials,
	const char *token, uint64_t now_wall_s, uint64_t *ret_expires_wall_s, struct vbd_error *err)
{
	const struct vbd_credential *found = NULL;
	uint8_t digest[VBD_SHA256_BYTES];

	if (!vbd_token_hash(token, digest)) {
		(void)vbd_error_set(err, VBD_E_INTERNAL, "there is no SHA-256");
		return NULL;
	}
	for (size_t i = 0; i < credentials->list.n_credentials; i++) {
		const struct vbd_credential *at = &credentials->list.credentials[i];
		bool same = gnutls_memcmp(at->sha256, digest, sizeof(digest)) == 0;

		found = same && at->kind == VBD_CREDENTIAL_TOKEN ? at : found;
	}
	if (!found) {
		(void)vbd_error_set(err, VBD_E_UNAUTHORIZED, "the token is unknown");
		return NULL;
	}
	if (found->expires_wall_s && found->expires_wall_s <= now_wall_s) {
		(void)vbd_error_set(err, VBD_E_UNAUTHORIZED, "the token of %s has expired",
			credentials->of_entry[found->caller]->name);
		return NULL;
	}
	*ret_expires_wall_s = found->expires_wall_s;
	return credentials->of_entry[found->caller];
}

struct vbd_caller *vbd_credentials_of_cert(const struct vbd_credentials *credentials,
	const char *const *names, size_t n_names, const char **ret_name)
{
	for (size_t i = 0; i < n_names; i++) {
		for (size_t k = 0; k < credentials->list.n_credentials; k++) {
			const struct vbd_credential *at = &credentials->list.credentials[k];

			if (at->kind != VBD_CREDENTIAL_CERT || strcmp(at->cert_name, names[i]) != 0)
				continue;
			*ret_name = names[i];
			return credentials->of_entry[at->caller];
		}
	}
	return NULL;
}

static bool has_gid(const gid_t *gids, size_t n_gids, uint32_t gid)
{
	for (size_t i = 0; i < n_gids; i++) {
		if (gids[i] == gid)
			return true;
	}
	return false;
}

static bool is_member(const struct vbd_caller_group *group, const gid_t *gids, size_t n_gids)
{
	return group->is_set && has_gid(gids, n_gids, group->gid);
}

/* A uid goes before a group, whatever the order in the file. */
static struct vbd_caller *of_file(
	const struct vbd_credentials *credentials, uid_t uid, const gid_t *gids, size_t n_gids)
{
	struct vbd_caller *of_group = NULL;

	for (size_t i = 0; i < credentials->list.n_credentials; i++) {
		const struct vbd_credential *at = &credentials->list.credentials[i];

		if (at->kind == VBD_CREDENTIAL_UID && at->id == uid)
			return credentials->of_entry[at->caller];
		if (!of_group && at->kind == VBD_CREDENTIAL_GID && has_gid(gids, n_gids, at->id))
			of_group = credentials->of_entry[at->caller];
	}
	return of_group;
}

/* Each member of operate_group has its own objects. */
static struct vbd_caller *of_uid(
	const struct vbd_credentials *credentials, uid_t uid, struct vbd_error *err)
{
	struct vbd_caller *caller;
	char name[VBD_NAME_BYTES];

	(void)snprintf(name, sizeof(name), VBD_CALLER_UID_PREFIX "%u", uid);
	caller = vbd_callers_get(credentials->callers, name);
	if (caller)
		caller->role = VBD_ROLE_OPERATE;
	else
		(void)vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the caller");
	return caller;
}

struct vbd_caller *vbd_credentials_of_user(const struct vbd_credentials *credentials, uid_t uid,
	const gid_t *gids, size_t n_gids, struct vbd_error *err)
{
	const struct vbd_caller_list *list = &credentials->list;
	struct vbd_caller *caller;

	if (uid == 0 || uid == geteuid())
		return vbd_caller_ref(credentials->control);
	caller = of_file(credentials, uid, gids, n_gids);
	if (caller)
		return vbd_caller_ref(caller);
	if (is_member(&list->control_group, gids, n_gids))
		return vbd_caller_ref(credentials->control);
	if (is_member(&list->operate_group, gids, n_gids))
		return of_uid(credentials, uid, err);
	if (!list->read_group.is_set || is_member(&list->read_group, gids, n_gids))
		return vbd_caller_ref(credentials->read);
	return NULL;
}

struct vbd_caller *vbd_credentials_control(const struct vbd_credentials *credentials)
{
	return credentials->control;
}
