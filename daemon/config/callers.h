/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callers of the configuration, and their credentials, from callers_file, the token files and
 * the keys for groups.
 *
 * A token has 128 random bits or more, so its plain SHA-256 tells nothing about it: a slow hash,
 * which passwords need because they can be guessed, would only make each request slow.
 *
 * The functions block on the file system, and on the name service for users and groups. Any thread.
 */
#ifndef VBD_DAEMON_CONFIG_CALLERS_H
#define VBD_DAEMON_CONFIG_CALLERS_H

#include "base/attr.h"
#include "base/error.h"
#include "base/enum.h"

/* X(SYMBOL, name), rising; x-role in openapi.yaml */
#define VBD_ROLE_MAP(X)                                                               \
	/* health and dashboard files only */                                         \
	X(VBD_ROLE_NONE, "none")                                                      \
	/* GET, without the members of a higher x-role: keys, addresses, contents */  \
	X(VBD_ROLE_READ, "read")                                                      \
	/* makes objects, and does everything with those that are the caller's own */ \
	X(VBD_ROLE_OPERATE, "operate")                                                \
	/* everything */                                                              \
	X(VBD_ROLE_CONTROL, "control")

enum vbd_role { VBD_ROLE_MAP(VBD_ENUM_ROW) VBD_ROLE_COUNT };

/** vbd_role_name - "none", "read", "operate", "control" */
const char *vbd_role_name(enum vbd_role role);

/** vbd_role_parse - false if @name is not the name of a role */
bool vbd_role_parse(const char *name, enum vbd_role *ret_role);

struct vbd_config;

#define VBD_CALLER_NAME_BYTES 64
#define VBD_CALLERS_MAX	      1024 /* of a configuration */
#define VBD_CREDENTIALS_MAX   4096 /* of all of them */
#define VBD_SHA256_BYTES      32
#define VBD_CERT_NAME_BYTES   256

/* Callers that the daemon makes by itself; no caller of a file has such a name. */
#define VBD_CALLER_CONTROL    "control"
#define VBD_CALLER_READ	      "read"
#define VBD_CALLER_UID_PREFIX "uid-"

/* X(name, max): what one caller may have at a time. 0: no quota. Keys below `quotas:`
 * of a caller. */
#define VBD_QUOTA_MAP(X)                                   \
	X(connections, 1000000) /* not ended */            \
	X(buffers, 1000000)                                \
	X(pinned_bytes, UINT64_C(1) << 50)                 \
	X(transfers, 1000000) /* not ended */              \
	X(streams, 65536)     /* and requests that wait */ \
	X(requests_per_s, 1000000)

#define VBD_QUOTA_MEMBER(name, max) uint64_t name;
struct vbd_quotas {
	VBD_QUOTA_MAP(VBD_QUOTA_MEMBER)
};
#undef VBD_QUOTA_MEMBER

struct vbd_caller_entry {
	char name[VBD_CALLER_NAME_BYTES];
	enum vbd_role role;
	struct vbd_quotas quotas;
	uint64_t sum; /* of role, quotas and credentials, to see a change; never 0 */
};

enum vbd_credential_kind {
	VBD_CREDENTIAL_TOKEN,
	VBD_CREDENTIAL_CERT,
	VBD_CREDENTIAL_UID,
	VBD_CREDENTIAL_GID,
};

/* A credential: something by which a caller is known. */
struct vbd_credential {
	enum vbd_credential_kind kind;
	size_t caller;		 /* index of the entry */
	uint64_t expires_wall_s; /* a token: seconds since 1970; 0: never */
	uint32_t id;		 /* a uid or a gid */
	uint8_t sha256[VBD_SHA256_BYTES];
	char cert_name[VBD_CERT_NAME_BYTES];
};

/* The members of a group that a key of the configuration names; `is_set` is false without one. */
struct vbd_caller_group {
	bool is_set;
	uint32_t gid;
};

struct vbd_caller_list {
	struct vbd_caller_entry *entries;
	size_t n_entries;
	struct vbd_credential *credentials; /* in the order of the file */
	size_t n_credentials;
	struct vbd_caller_group control_group, operate_group, read_group;
};

/**
 * vbd_caller_list_load - all callers of a configuration
 * @config: checked by vbd_config_check(), which has read the token files
 * @ret:    the caller's, ended by vbd_caller_list_fini(); unchanged after an error
 *
 * Returns VBD_OK; VBD_E_NOT_FOUND, _PERMISSION_DENIED, _TOO_LONG, _BAD_VALUE or another code for a
 * bad value. The error's text begins with "path:line: " for a fault of callers_file, else with the
 * key.
 */
enum vbd_status vbd_caller_list_load(const struct vbd_config *config, struct vbd_caller_list *ret,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_caller_list_fini - free what a list owns; a list of zeros is fine */
void vbd_caller_list_fini(struct vbd_caller_list *list);

/** vbd_caller_list_add - add an entry; NULL if there is no room or no memory */
struct vbd_caller_entry *vbd_caller_list_add(
	struct vbd_caller_list *list, const char *name, enum vbd_role role);

/** vbd_caller_list_know - add a credential of the newest entry, of zeros but for its kind and its
 * entry; NULL if there is no room or no memory */
struct vbd_credential *vbd_caller_list_know(
	struct vbd_caller_list *list, enum vbd_credential_kind kind);

/** vbd_callers_find_group - the id of the group that @key has; VBD_E_BAD_VALUE names both */
enum vbd_status vbd_callers_find_group(
	const char *key, const char *name, uint32_t *ret_gid, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_token_hash - the SHA-256 of a token; false if the library has none */
bool vbd_token_hash(const char *token, uint8_t ret_sha256[VBD_SHA256_BYTES]) VBD_MUST_CHECK;

#endif
