/* SPDX-License-Identifier: Apache-2.0 */
/* The list of callers, and the file that fills it. A file of a thousand callers needs the line of
 * each value in its errors. */
#include "base/text.h"
#include "daemon/config/callers.h"
#include "daemon/config/config_yaml.h"
#include "daemon/config/secret_file.h"

#include <gnutls/crypto.h>

#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <time.h>

#define FILE_MAX_BYTES ((size_t)1024 * 1024)

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

/* --- errors of the file ---------------------------------------------------------------------- */

struct reader {
	const char *path;
	yaml_document_t document;
	struct vbd_caller_list *list;
	struct vbd_error *err;
};

static enum vbd_status refuse(struct reader *reader, const yaml_node_t *node,
	enum vbd_status status, const char *fmt, ...) VBD_PRINTF(4, 5);

static enum vbd_status refuse(struct reader *reader, const yaml_node_t *node,
	enum vbd_status status, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return vbd_error_input(reader->err, status, "callers_file", "%s:%zu: %s",
		vbd_text_path(reader->path).text, node->start_mark.line + 1, text);
}

static yaml_node_t *node_of(struct reader *reader, int index)
{
	return yaml_document_get_node(&reader->document, index);
}

/* --- values ---------------------------------------------------------------------------------- */

static bool name_valid(const char *name)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@-";
	size_t len = strspn(name, letters);

	return len > 0 && len < VBD_CALLER_NAME_BYTES && name[len] == '\0';
}

static enum vbd_status set_name(struct reader *reader, const yaml_node_t *value, const char *text)
{
	struct vbd_caller_list *list = reader->list;
	struct vbd_caller_entry *entry = &list->entries[list->n_entries - 1];

	if (!name_valid(text))
		return refuse(reader, value, VBD_E_BAD_VALUE,
			"a name has 1 to 63 characters of A-Z a-z 0-9 . _ @ -");
	if (strncmp(text, VBD_CALLER_UID_PREFIX, strlen(VBD_CALLER_UID_PREFIX)) == 0)
		return refuse(reader, value, VBD_E_BAD_VALUE,
			"names that begin with " VBD_CALLER_UID_PREFIX
			" are for the members of operate_group");
	for (size_t i = 0; i + 1 < list->n_entries; i++) {
		if (strcmp(list->entries[i].name, text) == 0)
			return refuse(reader, value, VBD_E_BAD_VALUE,
				"there is a caller '%s' already", text);
	}
	(void)snprintf(entry->name, sizeof(entry->name), "%s", text);
	return VBD_OK;
}

static enum vbd_status set_role(struct reader *reader, const yaml_node_t *value, const char *text)
{
	struct vbd_caller_entry *entry = &reader->list->entries[reader->list->n_entries - 1];

	if (!vbd_role_parse(text, &entry->role) || entry->role == VBD_ROLE_NONE)
		return refuse(reader, value, VBD_E_BAD_VALUE,
			"the role '%.20s' is not read, operate or control", text);
	return VBD_OK;
}

static bool same_credential(const struct vbd_credential *a, const struct vbd_credential *b)
{
	return a->kind == b->kind && a->id == b->id && strcmp(a->cert_name, b->cert_name) == 0 &&
	       memcmp(a->sha256, b->sha256, sizeof(a->sha256)) == 0;
}

/* One thing must not stand for two callers, nor twice for one. */
static enum vbd_status know(
	struct reader *reader, const yaml_node_t *value, const struct vbd_credential *wanted)
{
	struct vbd_caller_list *list = reader->list;
	struct vbd_credential *credential;

	for (size_t i = 0; i < list->n_credentials; i++) {
		const struct vbd_credential *other = &list->credentials[i];

		if (same_credential(other, wanted))
			return refuse(reader, value, VBD_E_BAD_VALUE,
				"the caller '%s' has the same already",
				list->entries[other->caller].name);
	}
	credential = vbd_caller_list_know(list, wanted->kind);
	if (!credential)
		return refuse(reader, value, VBD_E_TOO_LONG,
			"there are more than %d tokens, certificates, users and groups",
			VBD_CREDENTIALS_MAX);
	credential->id = wanted->id;
	memcpy(credential->sha256, wanted->sha256, sizeof(credential->sha256));
	memcpy(credential->cert_name, wanted->cert_name, sizeof(credential->cert_name));
	return VBD_OK;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static enum vbd_status add_token(struct reader *reader, const yaml_node_t *value, const char *text)
{
	struct vbd_credential wanted = {.kind = VBD_CREDENTIAL_TOKEN};

	for (size_t i = 0; i < VBD_SHA256_BYTES; i++) {
		int high = hex_digit(text[2 * i]);
		int low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);

		if (low < 0)
			return refuse(reader, value, VBD_E_BAD_VALUE,
				"token_sha256 has 64 characters of 0-9 a-f, as of verbsd "
				"--make-token");
		wanted.sha256[i] = (uint8_t)(high * 16 + low);
	}
	if (text[2 * VBD_SHA256_BYTES])
		return refuse(reader, value, VBD_E_BAD_VALUE, "token_sha256 has 64 characters");
	return know(reader, value, &wanted);
}

static bool has_kind(const char *cert_name)
{
	static const char *const kinds[] = {"CN:", "DNS:", "email:", "URI:"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(kinds); i++) {
		size_t len = strlen(kinds[i]);

		if (strncmp(cert_name, kinds[i], len) == 0 && cert_name[len])
			return true;
	}
	return false;
}

static enum vbd_status add_cert(struct reader *reader, const yaml_node_t *value, const char *text)
{
	struct vbd_credential wanted = {.kind = VBD_CREDENTIAL_CERT};

	if (!has_kind(text) || strlen(text) >= sizeof(wanted.cert_name))
		return refuse(reader, value, VBD_E_BAD_VALUE,
			"a name in a certificate is CN:NAME, DNS:NAME, email:ADDRESS or URI:URI, "
			"with %zu characters at most",
			sizeof(wanted.cert_name) - 1);
	(void)snprintf(wanted.cert_name, sizeof(wanted.cert_name), "%s", text);
	return know(reader, value, &wanted);
}

static enum vbd_status add_uid(struct reader *reader, const yaml_node_t *value, const char *text)
{
	uint64_t uid = UINT64_MAX;

	/* The kernel's uid of nobody known is UINT32_MAX. */
	if (!vbd_parse_uint(text, &uid) || uid >= UINT32_MAX)
		return refuse(reader, value, VBD_E_BAD_VALUE, "'%.20s' is not the number of a user",
			text);
	return know(reader, value,
		&(struct vbd_credential){.kind = VBD_CREDENTIAL_UID, .id = (uint32_t)uid});
}

static enum vbd_status add_user(struct reader *reader, const yaml_node_t *value, const char *text)
{
	struct passwd user, *found = NULL;
	char room[16384];

	if (getpwnam_r(text, &user, room, sizeof(room), &found) != 0 || !found)
		return refuse(reader, value, VBD_E_BAD_VALUE, "there is no user '%.40s'", text);
	return know(reader, value,
		&(struct vbd_credential){.kind = VBD_CREDENTIAL_UID, .id = found->pw_uid});
}

static enum vbd_status add_group(struct reader *reader, const yaml_node_t *value, const char *text)
{
	struct vbd_credential wanted = {.kind = VBD_CREDENTIAL_GID};
	struct vbd_error cause = {0};

	if (vbd_callers_find_group(text, &wanted.id, &cause) != VBD_OK)
		return refuse(reader, value, cause.status, "%s", cause.text);
	return know(reader, value, &wanted);
}

/* "+01:00", "Z": the seconds that it is ahead of UTC. */
static bool parse_zone(const char *zone, long *ret_ahead_s)
{
	int hours = 0, minutes = 0, end = 0;

	*ret_ahead_s = 0;
	if (strcmp(zone, "Z") == 0)
		return true;
	if ((zone[0] != '+' && zone[0] != '-') ||
		sscanf(zone + 1, "%2d:%2d%n", &hours, &minutes, &end) != 2 || end != 5 ||
		zone[6] != '\0' || hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
		return false;
	*ret_ahead_s = (zone[0] == '-' ? -1L : 1L) * (hours * 3600L + minutes * 60L);
	return true;
}

/* RFC 3339, without fractions of seconds. */
static bool parse_time(const char *text, uint64_t *ret_wall_s)
{
	struct tm tm = {0}, known;
	const char *zone = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	long ahead_s;
	time_t wall_s;

	if (!zone || zone - text != 19 || strspn(text, "0123456789-T:Z+") != strlen(text) ||
		!parse_zone(zone, &ahead_s) || tm.tm_year < 70 || tm.tm_sec > 60)
		return false;
	known = tm;
	known.tm_sec = 0;
	wall_s = timegm(&known) + tm.tm_sec - ahead_s;
	*ret_wall_s = wall_s > 0 ? (uint64_t)wall_s : 1; /* 0 is for never */
	/* A day that the month does not have became one of the next month. */
	return known.tm_mday == tm.tm_mday;
}

/* --- members --------------------------------------------------------------------------------- */

typedef enum vbd_status (*set_fn)(
	struct reader *reader, const yaml_node_t *value, const char *text);

/* Call @set for the text, or for each text of a list. */
static enum vbd_status set_texts(
	struct reader *reader, const char *key, yaml_node_t *value, set_fn set, bool is_list)
{
	enum vbd_status status = VBD_OK;

	if (!is_list) {
		if (!vbd_yaml_text(value))
			return refuse(reader, value, VBD_E_WRONG_TYPE, "%s is a text", key);
		return set(reader, value, vbd_yaml_text(value));
	}
	if (value->type != YAML_SEQUENCE_NODE)
		return refuse(reader, value, VBD_E_WRONG_TYPE, "%s is a list", key);
	for (yaml_node_item_t *item = value->data.sequence.items.start;
		item < value->data.sequence.items.top && status == VBD_OK; item++) {
		yaml_node_t *node = node_of(reader, *item);

		if (!vbd_yaml_text(node))
			return refuse(reader, node, VBD_E_WRONG_TYPE, "%s has texts", key);
		status = set(reader, node, vbd_yaml_text(node));
	}
	return status;
}

static enum vbd_status set_quota(struct reader *reader, const yaml_node_t *key,
	const yaml_node_t *value, struct vbd_quotas *quotas)
{
	static const struct {
		const char *name;
		size_t offset;
		uint64_t max;
	} rows[] = {
#define QUOTA_ROW(name, max) {#name, offsetof(struct vbd_quotas, name), max},
		VBD_QUOTA_MAP(QUOTA_ROW)
#undef QUOTA_ROW
	};
	const char *name = vbd_yaml_text(key);
	const char *text = vbd_yaml_text(value);

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows) && name; i++) {
		uint64_t number = 0;

		if (strcmp(rows[i].name, name) != 0)
			continue;
		if (!text || !vbd_parse_size(text, &number) || number < 1 || number > rows[i].max)
			return refuse(reader, value, VBD_E_OUT_OF_RANGE,
				"%s is a number from 1 to %llu", name,
				(unsigned long long)rows[i].max);
		*(uint64_t *)(void *)((char *)quotas + rows[i].offset) = number;
		return VBD_OK;
	}
	return refuse(
		reader, key, VBD_E_UNKNOWN_FIELD, "there is no quota '%.40s'", name ? name : "");
}

static enum vbd_status set_quotas(struct reader *reader, yaml_node_t *value)
{
	struct vbd_caller_entry *entry = &reader->list->entries[reader->list->n_entries - 1];
	enum vbd_status status = VBD_OK;

	if (value->type != YAML_MAPPING_NODE)
		return refuse(
			reader, value, VBD_E_WRONG_TYPE, "quotas has a name and a number a line");
	for (yaml_node_pair_t *pair = value->data.mapping.pairs.start;
		pair < value->data.mapping.pairs.top && status == VBD_OK; pair++)
		status = vbd_yaml_is_repeated(&reader->document, value, pair)
				 ? refuse(reader, node_of(reader, pair->key), VBD_E_BAD_VALUE,
					   "a key is there already")
				 : set_quota(reader, node_of(reader, pair->key),
					   node_of(reader, pair->value), &entry->quotas);
	return status;
}

static enum vbd_status set_member(
	struct reader *reader, const yaml_node_t *key, yaml_node_t *value, uint64_t *expires_wall_s)
{
	static const struct {
		const char *key;
		set_fn set;
		bool is_list;
	} rows[] = {
		{"name", set_name, false},
		{"role", set_role, false},
		{"token_sha256", add_token, false},
		{"certificates", add_cert, true},
		{"uids", add_uid, true},
		{"users", add_user, true},
		{"groups", add_group, true},
	};
	const char *name = vbd_yaml_text(key);

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows) && name; i++) {
		if (strcmp(rows[i].key, name) == 0)
			return set_texts(reader, name, value, rows[i].set, rows[i].is_list);
	}
	if (name && strcmp(name, "quotas") == 0)
		return set_quotas(reader, value);
	if (!name || strcmp(name, "expires") != 0)
		return refuse(reader, key, VBD_E_UNKNOWN_FIELD, "a caller has no '%.40s'",
			name ? name : "");
	if (!vbd_yaml_text(value) || !parse_time(vbd_yaml_text(value), expires_wall_s))
		return refuse(reader, value, VBD_E_BAD_VALUE,
			"expires is a time as in 2027-01-31T12:00:00Z");
	return VBD_OK;
}

static enum vbd_status read_caller(struct reader *reader, yaml_node_t *node)
{
	struct vbd_caller_list *list = reader->list;
	size_t first = list->n_credentials;
	struct vbd_caller_entry *entry;
	uint64_t expires_wall_s = 0;
	enum vbd_status status = VBD_OK;

	if (node->type != YAML_MAPPING_NODE)
		return refuse(reader, node, VBD_E_WRONG_TYPE, "a caller has a name and a role");
	entry = vbd_caller_list_add(list, "", VBD_ROLE_NONE);
	if (!entry)
		return refuse(reader, node, VBD_E_TOO_LONG, "there are more than %d callers",
			VBD_CALLERS_MAX - 2);
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
		pair < node->data.mapping.pairs.top && status == VBD_OK; pair++)
		status = vbd_yaml_is_repeated(&reader->document, node, pair)
				 ? refuse(reader, node_of(reader, pair->key), VBD_E_BAD_VALUE,
					   "a key is there already")
				 : set_member(reader, node_of(reader, pair->key),
					   node_of(reader, pair->value), &expires_wall_s);
	if (status == VBD_OK && (!entry->name[0] || entry->role == VBD_ROLE_NONE))
		return refuse(reader, node, VBD_E_MISSING_FIELD, "a caller has a name and a role");
	for (size_t i = first; i < list->n_credentials; i++) {
		if (list->credentials[i].kind == VBD_CREDENTIAL_TOKEN)
			list->credentials[i].expires_wall_s = expires_wall_s;
	}
	return status;
}

/* --- the file -------------------------------------------------------------------------------- */

static enum vbd_status read_callers(struct reader *reader)
{
	yaml_node_t *root = yaml_document_get_root_node(&reader->document);
	enum vbd_status status = VBD_OK;

	if (!root)
		return VBD_OK; /* an empty file has no callers */
	if (root->type != YAML_SEQUENCE_NODE)
		return refuse(reader, root, VBD_E_WRONG_TYPE, "the file is a list of callers");
	for (yaml_node_item_t *item = root->data.sequence.items.start;
		item < root->data.sequence.items.top && status == VBD_OK; item++)
		status = read_caller(reader, node_of(reader, *item));
	return status;
}

static enum vbd_status parse(struct reader *reader, const char *text, size_t len_bytes)
{
	enum vbd_status status = vbd_config_read_yaml(
		reader->path, "callers_file", text, len_bytes, &reader->document, reader->err);

	if (status)
		return status;
	status = read_callers(reader);
	yaml_document_delete(&reader->document);
	return status;
}

enum vbd_status vbd_callers_file_read(
	const char *path, struct vbd_caller_list *list, struct vbd_error *err)
{
	struct reader reader = {.path = path, .list = list, .err = err};
	struct vbd_error cause = {0};
	char *text = malloc(FILE_MAX_BYTES);
	enum vbd_status status;
	size_t len = 0;

	if (!text)
		return vbd_error_set(
			err, VBD_E_NO_MEMORY, "no memory to read %s", vbd_text_path(path).text);
	status = vbd_secret_file_read(path, text, FILE_MAX_BYTES, &len, &cause);
	if (status == VBD_OK)
		status = parse(&reader, text, len);
	else
		status = vbd_error_input(
			err, status, "callers_file", "callers_file: %s", cause.text);
	free(text);
	return status;
}

VBD_ENUM_NAMES(vbd_role_name, enum vbd_role, VBD_ROLE_MAP)
VBD_ENUM_PARSE(vbd_role_parse, enum vbd_role, 0, VBD_ROLE_COUNT, vbd_role_name)
