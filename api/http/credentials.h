/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which caller a token, a certificate or a local user stands for.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_API_HTTP_CREDENTIALS_H
#define VBD_API_HTTP_CREDENTIALS_H

#include "base/attr.h"
#include "base/error.h"
#include "daemon/config/callers.h"
#include "daemon/core/caller.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct vbd_credentials;

/**
 * vbd_credentials_create - the credentials of a list
 * @callers: where the callers live; must outlive the credentials
 * @list:    taken over on success, and zeroed
 *
 * The callers have their roles and quotas by vbd_credentials_use() only.
 */
enum vbd_status vbd_credentials_create(struct vbd_callers *callers, struct vbd_caller_list *list,
	struct vbd_credentials **ret_credentials, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_credentials_use - give the callers their roles and quotas; those of @before that are not in
 * @credentials lose their roles. @before may be NULL. */
void vbd_credentials_use(
	const struct vbd_credentials *credentials, const struct vbd_credentials *before);

/** vbd_credentials_destroy - @credentials may be NULL */
void vbd_credentials_destroy(struct vbd_credentials *credentials);

/** vbd_credentials_none - whether no token and no certificate stands for a caller, so that nobody
 * can say who they are by TCP */
bool vbd_credentials_none(const struct vbd_credentials *credentials);

/**
 * vbd_credentials_of_token - the caller of a token
 * @now_wall_s: seconds since 1970
 * @ret_expires_wall_s: when the token expires, likewise; 0: never
 *
 * The digest is compared with those of all callers, each in constant time, so the time tells
 * neither which one matched nor how much of it. Returns NULL with VBD_E_UNAUTHORIZED.
 */
struct vbd_caller *vbd_credentials_of_token(const struct vbd_credentials *credentials,
	const char *token, uint64_t now_wall_s, uint64_t *ret_expires_wall_s,
	struct vbd_error *err);

/** vbd_credentials_of_cert - the caller of the first of these names that stands for one, which
 * @ret_name is set to; NULL if none does */
struct vbd_caller *vbd_credentials_of_cert(const struct vbd_credentials *credentials,
	const char *const *names, size_t n_names, const char **ret_name);

/**
 * vbd_credentials_of_user - the caller of a local user
 * @gids: the primary group and all others
 *
 * In this order: root and the daemon's own user are "control"; the caller that has the uid; the
 * first one that has one of the groups; control_group; operate_group, whose members are callers
 * "uid-N" each; read_group, or everybody if there is none.
 *
 * Returns a reference; NULL with VBD_OK in @err for a user without a role.
 */
struct vbd_caller *vbd_credentials_of_user(const struct vbd_credentials *credentials, uid_t uid,
	const gid_t *gids, size_t n_gids, struct vbd_error *err);

/** vbd_credentials_control - the caller "control", for clients that everything is allowed to */
struct vbd_caller *vbd_credentials_control(const struct vbd_credentials *credentials);

#endif
